/**
 * Scheduled jobs of a fleet whose processes are killed and paused, beside node-cron with a lock.
 */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@incumbent/test-support';
import { onServer, type Check } from './check.ts';
import { CronFleet, type CronKind, type SlotCounts } from './cron-fleet.ts';
import { redisHost } from './hosts.ts';
import { freshNamespace, storeUrl, WAIT_MS } from './pair.ts';

const JOBS = 50;
const SECONDS = 200;
const WORK_MS = 200;
const TTL_MS = 3_000;
/** From one fault to the next: the longest fault, and a while in which all processes run. */
const FAULT_EVERY_MS = 10_000;
const LONGEST_PAUSE_MS = 8_000;
const DOWN_MS = 3_000;
const KINDS: readonly CronKind[] = ['fleet', 'kept', 'released'];

/** What happens to all fleets at one time. */
interface Fault {
  readonly kind: 'kill' | 'pause';
  readonly indices: readonly number[];
  readonly ms: number;
}

/** One process or, in one case of four, all of them. */
function drawFault(random: () => number): Fault {
  const indices = random() < 0.25 ? [0, 1, 2] : [Math.floor(random() * 3)];
  if (random() < 0.5) return { kind: 'kill', indices, ms: indices.length === 1 ? 0 : DOWN_MS };
  return { kind: 'pause', indices, ms: 500 + random() * (LONGEST_PAUSE_MS - 500) };
}

async function injectFaults(fleets: readonly CronFleet[], random: () => number, untilMs: number): Promise<void> {
  while (Date.now() + FAULT_EVERY_MS < untilMs) {
    const nextAt = Date.now() + FAULT_EVERY_MS;
    const { kind, indices, ms } = drawFault(random);
    // At any phase of the slots.
    await sleep(random() * 1_000);
    await Promise.all(fleets.map((fleet) => (kind === 'kill' ? fleet.kill(indices, ms) : fleet.pause(indices, ms))));
    await sleep(Math.max(nextAt - Date.now(), 0));
  }
  await sleep(Math.max(untilMs - Date.now(), 0));
}

export const cronSlots: Check = {
  name: 'cron-slots',
  claim:
    'With `@incumbent/cron`, no slot of a job runs twice, and each slot that does not run to its end is reported, while processes are killed and paused.',
  method:
    `Three fleets of three processes each on one Redis, with ${JOBS} jobs of one slot a second for ${SECONDS} s, whose runs take ${WORK_MS} ms. fleet: \`@incumbent/cron\`, ttl ` +
    `${TTL_MS} ms, \`maxLate: 100\`. kept: node-cron with a \`RunCoordinator\` that sets one key per slot (SET NX PX 30000, node-cron's default lease). released: the same, and it ` +
    `deletes the key after the run. Every ${FAULT_EVERY_MS / 1_000} s, at a random phase of the slots, the same happens to each fleet: one process, or all three in one case of four, is killed ` +
    `(kill -9) and replaced, or paused for 0.5 to ${LONGEST_PAUSE_MS / 1_000} s. Twice: slots with two runs. Missed: slots without a run. Interrupted: slots whose run began and did ` +
    'not end. Silent: slots that are missed or interrupted, and of which no process told. The event execution:missed of node-cron is not counted. Only the figures of fleet have a bound.',
  runs: 1,
  parallel: 1,
  open: onServer(
    () => redisHost.start(),
    async (server, { random }) => {
      await using fleets = new Fleets(server.url);
      const [from, to] = await fleets.run(random);
      const [fleet, kept, released] = fleets.counts(from, to);
      assert.ok(fleet !== undefined && kept !== undefined && released !== undefined);
      assert.equal(fleet.slots, JOBS * SECONDS);
      assert.deepEqual({ twice: fleet.twice, silent: fleet.silent }, { twice: 0, silent: 0 });
      return { figures: { slots: fleet.slots, ...named('fleet', fleet), ...named('kept', kept), ...named('released', released) } };
    },
  ),
};

function named(name: CronKind, { twice, missed, interrupted, silent }: SlotCounts): Readonly<Record<string, number>> {
  return { [`${name}Twice`]: twice, [`${name}Missed`]: missed, [`${name}Interrupted`]: interrupted, [`${name}Silent`]: silent };
}

/** One fleet of each kind, on one server. */
class Fleets implements AsyncDisposable {
  readonly #fleets: readonly CronFleet[];

  constructor(server: string) {
    this.#fleets = KINDS.map((kind) => {
      const url = storeUrl([server], freshNamespace(), 'redis');
      return new CronFleet({ url, kind, jobs: JOBS, workMs: WORK_MS, ttlMs: TTL_MS });
    });
  }

  /** Returns the time of the first slot that counts, and that of the first one after the last. */
  async run(random: () => number): Promise<readonly [from: number, to: number]> {
    for (const fleet of this.#fleets) await fleet.start();
    await this.#reach(0, 'each job runs');
    const from = Math.ceil(Date.now() / 1_000) * 1_000 + 1_000;
    const to = from + SECONDS * 1_000;
    await injectFaults(this.#fleets, random, to);
    await this.#reach(to + 2_000, 'each job runs after the faults');
    return [from, to];
  }

  counts(from: number, to: number): readonly SlotCounts[] {
    return this.#fleets.map((fleet) => fleet.counts(from, to));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#fleets.map((fleet) => fleet[Symbol.asyncDispose]()));
  }

  async #reach(time: number, what: string): Promise<void> {
    await until(() => this.#fleets.every((fleet) => fleet.hasReached(time)), { what, withinMs: WAIT_MS });
  }
}
