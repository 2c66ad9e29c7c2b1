/** Members without a store, each in a process of its own, over TCP. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { freePort, LOOPBACK, makeScratch, spawnScript, until, type Scratch, type ScriptEvent } from '@incumbent/test-support';
import { checkedHistoryOf, now, type ProcessRun } from '../history.ts';
import { at, ELECTION, WAIT_MS } from './pair.ts';

const MEMBER = new URL('../peer-member.ts', import.meta.url);

/** One start of a member. Its name says which one. */
interface Start extends ProcessRun {
  readonly id: string;
}

interface PeerFigures {
  readonly leaderships: number;
  /**
   * How often a process was closed because it did not answer in time. On a busy machine a process
   * may be delayed for seconds.
   */
  readonly slow: number;
}

export class PeerGroup implements AsyncDisposable {
  readonly #addresses: Readonly<Record<string, string>>;
  readonly #folder: Scratch;
  readonly #timeoutMinMs: number;
  readonly #secret = randomBytes(32).toString('hex');
  readonly #lives: Start[] = [];

  private constructor(addresses: Readonly<Record<string, string>>, folder: Scratch, timeoutMinMs: number) {
    this.#addresses = addresses;
    this.#folder = folder;
    this.#timeoutMinMs = timeoutMinMs;
  }

  /** No member is started yet. */
  static async open(ids: readonly string[], timeoutMinMs: number): Promise<PeerGroup> {
    const ports = new Set<number>();
    while (ports.size < ids.length) ports.add(await freePort());
    const addresses = Object.fromEntries([...ports].map((port, i) => [ids[i]!, `${LOOPBACK}:${port}`]));
    return new PeerGroup(addresses, await makeScratch('peers'), timeoutMinMs);
  }

  /** Starts all members, and waits until they all see the same leader. */
  async complete(): Promise<void> {
    const running = new Set(this.#living.map(({ id }) => id));
    await this.#assertAlive();
    const missing = Object.keys(this.#addresses).filter((id) => !running.has(id));
    this.#lives.push(...(await Promise.all(missing.map((id) => this.#start(id)))));
    try {
      await until(() => this.#leader() !== undefined, { what: 'a leader that all see', withinMs: 2 * WAIT_MS });
    } catch (error) {
      await this.#assertAlive();
      throw new Error(this.#living.map(storyOf).join('\n'), { cause: error });
    }
  }

  /**
   * The time from just before SIGKILL of the leader until another member learns that it leads, in
   * ms.
   */
  async killLeader(): Promise<number> {
    const leader = await until(() => this.#leader(), { what: 'a leader that all see', withinMs: WAIT_MS, everyMs: 5 });
    const others = this.#living.filter((life) => life !== leader).map(({ script }) => ({ script, from: script.events.length }));
    const killedAt = now();
    leader.script.sigkill();
    const next = (): ScriptEvent | undefined =>
      others
        .flatMap(({ script, from }) => script.events.slice(from))
        .find(({ event, at: atNs }) => event === 'elected' && Number(atNs) / 1e6 > killedAt);
    const elected = await until(next, { what: 'the next leader', withinMs: WAIT_MS, everyMs: 5 });
    await leader.script.exited;
    leader.died = now();
    return at(elected) - killedAt;
  }

  /**
   * Asserts that no two members were valid leaders at one instant, that terms rose, and that no
   * member was refused or failed except because it was slow.
   */
  check(): PeerFigures {
    const events = checkedHistoryOf(this.#lives, ELECTION);
    const troubles = this.#lives.flatMap(({ script }) => script.events.filter(({ event }) => event === 'trouble' || event === 'failed'));
    assert.deepEqual(
      troubles.filter((trouble) => !isOfSlowness(trouble)),
      [],
    );
    return { leaderships: events.filter(({ type }) => type === 'elected').length, slow: troubles.length };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#lives.map(({ script }) => script[Symbol.asyncDispose]()));
    await this.#folder.remove();
  }

  get #living(): readonly Start[] {
    return this.#lives.filter(({ died }) => died === undefined);
  }

  /** Asserts that only killed processes have ended. */
  async #assertAlive(): Promise<void> {
    for (const life of this.#living)
      if (!life.script.running) throw new Error(`it has ended, with ${await life.script.exited}: ${storyOf(life)}`);
  }

  #leader(): Start | undefined {
    const seen = this.#living.map(({ script }) => script.events.findLast(({ event }) => event === 'sees')?.fields);
    const terms = new Set(seen.map((fields) => fields?.['term']));
    const leader = this.#living.find(({ id }) => id === seen[0]?.['leader']);
    const isLeading = leader?.script.events.at(-1)?.event === 'valid';
    return terms.size === 1 && isLeading && this.#living.length === Object.keys(this.#addresses).length ? leader : undefined;
  }

  async #start(id: string): Promise<Start> {
    const addresses = Object.entries(this.#addresses)
      .map((pair) => pair.join('='))
      .join(',');
    const args = [id, addresses, this.#folder.path, String(this.#timeoutMinMs)];
    const script = await spawnScript(MEMBER, { args, env: { CLUSTER_SECRET: this.#secret } });
    return { id, name: `${id}#${this.#lives.filter((life) => life.id === id).length + 1}`, script };
  }
}

function isOfSlowness({ fields }: ScriptEvent): boolean {
  return /reason: '(?:unresponsive|handshakeTimeout)'/.test(String(fields['fields']));
}

/** Its last reports. */
function storyOf({ name, script }: Start): string {
  const told = script.events.filter(({ event }, i) => event !== 'valid' || i === script.events.length - 1).slice(-10);
  return [name, ...told.map(({ event, at: atNs, fields }) => `  ${atNs} ${event} ${JSON.stringify(fields)}`), ...script.output].join('\n');
}
