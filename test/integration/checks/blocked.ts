/** How many leaderships a blocked event loop ends, with a worker that renews and without one. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkHistory, type HistoryEvent } from '@incumbent/conformance';
import { makeScratch, type ScriptProcess } from '@incumbent/test-support';
import { historyOf } from '../history.ts';
import {
  BLOCKED_TTL_MS,
  type BlockedPlace,
  type BlockedSettings,
  openPlace,
  startBlocked,
  startRival,
  WORKER_STORES,
  type WorkerStore,
} from './blocked-leader.ts';
import type { Check, Figures } from './check.ts';
import { at, WAIT_MS } from './pair.ts';

interface BlockedCase {
  /** The name of its figure. */
  readonly name: string;
  /** How long the event loop is blocked, in ttls. */
  readonly ttls: number;
  readonly renewIn: BlockedSettings['renewIn'];
  /** In ttls. Default: the member's default, three ttls. */
  readonly maxBlockedTtls?: number;
  /** What happens to the worker: right before the block, or one ttl after its start. */
  readonly worker?: 'terminated' | 'throws' | 'paused';
  /** How many leaderships it costs. */
  readonly lost: 0 | 1;
}

const LIMIT = { maxBlockedTtls: 12 } as const;
const PAUSE_TTLS = 2;

const CASES: readonly BlockedCase[] = [
  { name: 'alone0.5', ttls: 0.5, renewIn: 'eventLoop', lost: 0 },
  { name: 'worker0.5', ttls: 0.5, renewIn: 'worker', lost: 0 },
  { name: 'alone2', ttls: 2, renewIn: 'eventLoop', lost: 1 },
  { name: 'worker2', ttls: 2, renewIn: 'worker', lost: 0 },
  { name: 'alone10', ttls: 10, renewIn: 'eventLoop', lost: 1 },
  { name: 'worker10', ttls: 10, renewIn: 'worker', ...LIMIT, lost: 0 },
  { name: 'limit10', ttls: 10, renewIn: 'worker', lost: 1 },
  { name: 'terminated2', ttls: 2, renewIn: 'worker', worker: 'terminated', lost: 1 },
  { name: 'throws4', ttls: 4, renewIn: 'worker', ...LIMIT, worker: 'throws', lost: 1 },
  { name: 'paused4', ttls: 4, renewIn: 'worker', ...LIMIT, worker: 'paused', lost: 1 },
];

/** One leader that blocks, in an election of its own. */
class BlockedRun implements AsyncDisposable {
  readonly case: BlockedCase;
  readonly leader: ScriptProcess;
  readonly #failWorker: (fault: 'throw' | 'pause', pauseMs: number) => void;

  private constructor(one: BlockedCase, { script, failWorker }: Awaited<ReturnType<typeof startBlocked>>) {
    this.case = one;
    this.leader = script;
    this.#failWorker = failWorker;
  }

  static async open(one: BlockedCase, url: string, folder: string, isSampled: boolean): Promise<BlockedRun> {
    const { name, renewIn, ttls, maxBlockedTtls, worker } = one;
    const limit = maxBlockedTtls === undefined ? {} : { maxBlockedMs: maxBlockedTtls * BLOCKED_TTL_MS };
    const block = { blockMs: ttls * BLOCKED_TTL_MS, isSampled, endsWorker: worker === 'terminated' };
    return new BlockedRun(one, await startBlocked({ url, memberId: name, election: name, renewIn, ...limit, ...block }, folder));
  }

  /**
   * Blocks the leader. Resolves when it has renewed its lease afterwards, or when it has lost its
   * leadership and waits behind the rival. Its worker is then ready.
   */
  async block(): Promise<void> {
    const { ttls, worker } = this.case;
    this.leader.sigusr2();
    if (worker === 'throws' || worker === 'paused') {
      await sleep(BLOCKED_TTL_MS);
      this.#failWorker(worker === 'throws' ? 'throw' : 'pause', PAUSE_TTLS * BLOCKED_TTL_MS);
    }
    await this.leader.waitFor('unblocked', { withinMs: ttls * BLOCKED_TTL_MS + WAIT_MS });
    const from = this.leader.events.findIndex(({ event }) => event === 'unblocked');
    await this.leader.waitFor(({ event }) => event === 'ended' || event === 'sessionRenewed', { withinMs: WAIT_MS, from });
    if (this.lost > 0) await this.leader.waitFor('waiting', { withinMs: WAIT_MS, from });
    if (this.case.renewIn === 'worker') await this.#untilWorker();
  }

  /** How many leaderships have ended. */
  get lost(): number {
    return this.leader.events.filter(({ event }) => event === 'ended').length;
  }

  /** From the last moment at which the leader was valid to the rival's election, in ms. */
  marginMs(rival: ScriptProcess): number {
    const valid = this.leader.events.findLast(({ event }) => event === 'valid');
    const elected = rival.events.find(({ event, fields }) => event === 'elected' && fields['election'] === this.case.name);
    assert.ok(elected !== undefined, `${this.case.name}: the rival leads`);
    return valid === undefined ? Infinity : at(elected) - Number(valid.fields['from']) / 1e6;
  }

  history(rival: ScriptProcess): readonly HistoryEvent[] {
    const { name } = this.case;
    const events = rival.events.filter(({ fields }) => fields['election'] === name);
    return [...historyOf(this.leader, name, name), ...historyOf({ events }, 'rival', name)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leader[Symbol.asyncDispose]();
  }

  async #untilWorker(): Promise<void> {
    const isGone = this.case.worker === 'terminated' || this.case.worker === 'throws';
    if (isGone) await this.leader.waitFor('renewerLost', { withinMs: WAIT_MS });
    const from = this.leader.events.findLastIndex(({ event }) => event === 'renewerLost');
    await this.leader.waitFor('renewerReady', { withinMs: WAIT_MS, from: Math.max(from, 0) });
  }
}

/** Starts a leader for each case and one rival, blocks all leaders, and counts. */
async function runAll(place: BlockedPlace, isSampled: boolean): Promise<Figures> {
  await using stack = new AsyncDisposableStack();
  const folder = await makeScratch('blocked-faults');
  stack.defer(() => folder.remove());
  const url = place.freshUrl();
  const runs: BlockedRun[] = [];
  for (const one of CASES) runs.push(stack.use(await BlockedRun.open(one, url, folder.path, isSampled)));
  const rival = stack.use(
    await startRival(
      url,
      CASES.map(({ name }) => name),
    ),
  );
  await Promise.all(runs.map((run) => run.block()));
  const lost = Object.fromEntries(runs.map((run) => [run.case.name, run.lost] as const));
  const margins = runs.filter((run) => run.lost > 0).map((run) => run.marginMs(rival));
  await stop(runs.map(({ leader }) => leader));
  await stop([rival]);
  assert.deepEqual(checkHistory(runs.flatMap((run) => run.history(rival))), []);
  assert.deepEqual(
    [...runs.map(({ leader }) => leader), rival].flatMap(({ output }) => output),
    [],
  );
  assert.deepEqual(lost, Object.fromEntries(CASES.map(({ name, lost: expected }) => [name, expected])));
  // Without calls of isValid() during the block, the last valid moment is not known.
  return { ...lost, ...(isSampled ? { marginMs: Math.min(...margins) } : {}) };
}

async function stop(scripts: readonly ScriptProcess[]): Promise<void> {
  for (const script of scripts) script.sigterm();
  await Promise.all(scripts.map(({ exited }) => exited));
}

function blockedCheck(store: WorkerStore): Check {
  return {
    name: `blocked-${store}`,
    claim: `On ${store}, a leader with \`renewIn: 'worker'\` outlasts a block of its event loop of up to \`maxBlockedMs\`, and never leads beside another one.`,
    method:
      'Ten leaders with the default ttl of 10 s, each in a process and an election of its own, and one process that waits behind all of them. All event loops are blocked at the same time, ' +
      'for as many ttls as the name of the case says. The figures are the leaderships lost in each case. alone: without a worker. worker: with one, and in the case of 10 ttls with a ' +
      '`maxBlockedMs` of 12 ttls. limit: with the default `maxBlockedMs`, 3 ttls. terminated: the worker is terminated right before the block. throws, paused: one ttl after the start of the ' +
      'block, the worker throws, or stands still for 2 ttls. These three must lose, as a leader without a worker does, and must have a worker again afterwards. In every second run the ' +
      'blocked code calls `isValid()` every 20 ms, otherwise only at its end. margin: the shortest time from the last call that returned true to the election of the next leader.',
    runs: 4,
    parallel: 2,
    open: async () => {
      const place = await openPlace(store);
      return {
        run: async (index) => ({ figures: await runAll(place, index % 2 === 0) }),
        [Symbol.asyncDispose]: () => Promise.resolve(place[Symbol.asyncDispose]()),
      };
    },
  };
}

export const blockedChecks: readonly Check[] = WORKER_STORES.map(blockedCheck);
