/**
 * Runs several members in one process, for tests: a network whose links a test can cut, and a
 * storage that keeps its data in memory.
 */

import type { Clock } from '@incumbent/core';
import { checkClock, checkKnown, checkName, checkNumber, explainDetached, invalidOption } from '@incumbent/core/adapter';
import type { DurableStorage } from './storage.ts';
import type { Frame, Link, Receive, LinkOptions, Transport } from './transport.ts';

/** The options of a `MemoryNetwork`. */
export interface MemoryNetworkOptions {
  /** The time from sending a frame to its delivery, in ms. 0 to 60,000. Default: 1. */
  readonly latencyMs?: number | undefined;
  readonly clock?: Clock | undefined;
  /**
   * For an open membership: the ids of the first members to contact, or a function that returns
   * them. The network calls the function once for each member that opens a link. If the function
   * fails, or returns something else than a list of ids, the member does not start. Default: none.
   */
  readonly seeds?: readonly string[] | (() => readonly string[] | Promise<readonly string[]>) | undefined;
}

/**
 * A transport between members of one process, for tests. All members of a group share one object.
 * It delivers every frame after `latencyMs`, unless a test has cut the link.
 *
 * @throws `INVALID_OPTION` from the constructor, or `INVALID_NAME` for a seed.
 */
export class MemoryNetwork implements Transport {
  readonly #clock: Clock;
  readonly #latencyMs: number;
  readonly #seeds: NonNullable<MemoryNetworkOptions['seeds']>;
  readonly #members = new Map<string, { readonly receive: Receive }>();
  readonly #cuts = new Set<string>();

  static {
    explainDetached(MemoryNetwork, 'network');
  }

  constructor(options: MemoryNetworkOptions = {}) {
    checkKnown('MemoryNetwork', options, ['latencyMs', 'clock', 'seeds']);
    this.#clock = checkClock(options.clock);
    this.#latencyMs = checkNumber('latencyMs', options.latencyMs, 1, { min: 0, max: 60_000 });
    const { seeds = [] } = options;
    this.#seeds = typeof seeds === 'function' ? seeds : checkSeeds(seeds);
  }

  async open(options: LinkOptions): Promise<Link> {
    const { memberId, receive } = options;
    const seeds = options.members === 'open' ? await this.#findSeeds() : [];
    // A second link with the same id replaces the first, as a second process at one address does.
    const end = { receive };
    this.#members.set(memberId, end);
    if (options.members === 'open')
      this.#clock.schedule(0, () =>
        options.found(
          '',
          seeds.map((id) => ({ memberId: id, address: '' })),
        ),
      );
    return {
      send: (to, frame) => this.#send(memberId, to, frame),
      close: async () => {
        if (this.#members.get(memberId) === end) this.#members.delete(memberId);
      },
    };
  }

  /**
   * Drops every frame that `from` sends to `to`, until `heal()`. Frames from `to` to `from` still
   * arrive.
   */
  cut(from: string, to: string): void {
    this.#cuts.add(`${from} ${to}`);
  }

  /** Drops every frame that this member sends and every frame sent to it, until `heal()`. */
  isolate(memberId: string): void {
    this.cut(memberId, '*');
    this.cut('*', memberId);
  }

  /** Restores all links. */
  heal(): void {
    this.#cuts.clear();
  }

  async #findSeeds(): Promise<readonly string[]> {
    return typeof this.#seeds === 'function' ? checkSeeds(await this.#seeds()) : this.#seeds;
  }

  #send(from: string, to: string, frame: Frame): void {
    if ([`${from} ${to}`, `${from} *`, `* ${to}`].some((cut) => this.#cuts.has(cut))) return;
    this.#clock.schedule(this.#latencyMs, () => this.#members.get(to)?.receive(from, frame));
  }
}

/** An empty list is allowed: the first member then founds the membership. */
function checkSeeds(seeds: unknown): readonly string[] {
  if (!Array.isArray(seeds)) throw invalidOption('seeds', seeds, 'a list of member ids, or a function that returns one');
  return seeds.map((id) => checkName('seeds', id));
}

/**
 * Keeps the durable data in memory, for tests. To restart a member with its vote, a test gives the
 * new member the same object. The data are lost when the process ends.
 */
export class MemoryStorage implements DurableStorage {
  #durable: unknown;

  static {
    explainDetached(MemoryStorage, 'storage');
  }

  async load(): Promise<unknown> {
    return this.#durable;
  }

  async save(durable: unknown): Promise<void> {
    this.#durable = durable;
  }

  async close(): Promise<void> {}
}
