/**
 * The leader of one partition: it writes messages to its log and sends them to the followers, and
 * acknowledges a message once every in-sync replica has it. A follower that falls behind leaves the
 * in-sync set, and one that has caught up joins it. A change of the set counts only when the
 * controller has written it to the store.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { isIncumbentError } from 'incumbent';
import type { Entry, Log } from './log.ts';
import type { Append } from './messages.ts';
import type { AlterIsr, Partition } from './partitions.ts';
import { Unavailable } from './wire.ts';

/** How many replicas must be in sync to accept messages, like Kafka's `min.insync.replicas`. */
const MIN_IN_SYNC = 2;
/**
 * A follower without an answer for so long is out of sync. Longer than the lease, which detects
 * dead brokers sooner.
 */
const LAG_MS = 5_000;
const RETRY_EVERY_MS = 50;
const ENTRIES_AT_ONCE = 500;
/** How long a producer waits for an acknowledgement at most, in ms. */
const ACKNOWLEDGED_WITHIN_MS = 5_000;

/**
 * The leader's requests to followers and the controller. Both reject with `STALE_TERM` after a
 * newer leader.
 */
export interface Peers {
  /**
   * Resolves with undefined if the follower has the entries, otherwise with the offset to try next.
   */
  append(broker: string, request: Append): Promise<number | undefined>;
  /** The partition's state, as the controller has written it. */
  alterIsr(request: AlterIsr): Promise<Partition>;
}

export interface LeaderOptions {
  readonly partition: string;
  readonly self: string;
  readonly log: Log;
  readonly peers: Peers;
  /** What it knew as a follower. */
  readonly committed: number;
  /** Called if a newer leader is known. */
  readonly deposed: (seen: bigint) => void;
}

interface Waiting {
  readonly end: number;
  readonly acknowledged: PromiseWithResolvers<void>;
}

export class PartitionLeader {
  readonly epoch: number;
  readonly #options: LeaderOptions;
  readonly #over = new AbortController();
  /**
   * The running replication to each follower; ended when the follower is not a replica any more.
   */
  readonly #followers = new Map<string, AbortController>();
  /** The offset up to which each follower's log is known to equal this one. */
  readonly #known = new Map<string, number>();
  /** Replicas that may be in sync already. Acknowledgements wait for them too. */
  readonly #joining = new Set<string>();
  #partition: Partition;
  #committed: number;
  #waiting: readonly Waiting[] = [];
  #news = Promise.withResolvers<void>();
  #asks: Promise<void> = Promise.resolve();
  /** The version of a requested change whose outcome is unknown. */
  #unanswered: number | undefined;

  constructor(partition: Partition, options: LeaderOptions) {
    this.epoch = partition.leaderEpoch;
    this.#options = options;
    this.#partition = partition;
    this.#committed = options.committed;
    this.#keepFollowers();
    this.#advance();
  }

  /**
   * The number of messages that all in-sync replicas have. They can be read, and are never lost.
   */
  get committed(): number {
    return this.#committed;
  }

  /** Applies what the controller has written in the same epoch. */
  update(partition: Partition): void {
    if (partition.version <= this.#partition.version) return;
    this.#partition = partition;
    this.#joining.clear(); // a wish of an older version is refused from now on
    this.#keepFollowers();
    this.#advance();
    this.#tell();
  }

  /**
   * Resolves with the first message's offset when all in-sync replicas have the messages. Rejects
   * with `Unavailable` if they do not, or if that is unknown.
   */
  async produce(values: readonly string[]): Promise<number> {
    const { log } = this.#options;
    const { isr } = this.#partition;
    if (isr.length < MIN_IN_SYNC) throw new Unavailable(`only ${isr.join(', ')} in sync, and ${MIN_IN_SYNC} are needed`);
    const offset = log.end;
    log.append(values.map((value) => ({ epoch: this.epoch, value })));
    const acknowledged = Promise.withResolvers<void>();
    const tooLate = setTimeout(() => acknowledged.reject(new Unavailable('not acknowledged in time')), ACKNOWLEDGED_WITHIN_MS);
    this.#waiting = [...this.#waiting, { end: log.end, acknowledged }];
    this.#advance();
    this.#tell();
    await acknowledged.promise.finally(() => clearTimeout(tooLate));
    return offset;
  }

  /** Stops. Messages that are not acknowledged yet will not be acknowledged by this leader. */
  close(): void {
    this.#over.abort();
    for (const follower of this.#followers.values()) follower.abort();
    for (const { acknowledged } of this.#waiting) acknowledged.reject(new Unavailable('another leads this partition'));
    this.#waiting = [];
    this.#tell();
  }

  #keepFollowers(): void {
    const wanted = this.#partition.replicas.filter((id) => id !== this.#options.self);
    for (const [id, follower] of this.#followers) {
      if (wanted.includes(id)) continue;
      follower.abort();
      this.#followers.delete(id);
    }
    for (const id of wanted) {
      if (this.#followers.has(id) || this.#over.signal.aborted) continue;
      const follower = new AbortController();
      this.#followers.set(id, follower);
      void this.#replicate(id, follower.signal);
    }
  }

  /** A message is committed when every replica that is or may be in sync has it. */
  #advance(): void {
    const others = new Set([...this.#partition.isr, ...this.#joining]);
    others.delete(this.#options.self);
    const ends = [...others].map((id) => this.#known.get(id) ?? 0);
    this.#committed = Math.max(this.#committed, Math.min(this.#options.log.end, ...ends));
    const done = this.#waiting.filter(({ end }) => end <= this.#committed);
    this.#waiting = this.#waiting.filter(({ end }) => end > this.#committed);
    for (const { acknowledged } of done) acknowledged.resolve();
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers<void>();
  }

  /** Replicates to one follower until the signal aborts or a newer leader is known. */
  async #replicate(id: string, stop: AbortSignal): Promise<void> {
    const { log } = this.#options;
    let offset = log.end;
    let answeredAt = performance.now();
    while (!stop.aborted) {
      const news = this.#news.promise;
      try {
        const entries = log.read(offset, ENTRIES_AT_ONCE);
        const again = await this.#append(id, offset, entries);
        if (stop.aborted) return;
        answeredAt = performance.now();
        offset = again ?? offset + entries.length;
        if (again !== undefined) continue;
        this.#known.set(id, offset);
        this.#advance();
        if (offset < log.end) continue;
        if (!this.#partition.isr.includes(id)) await this.#ask(id, true);
        await (this.#partition.isr.includes(id) ? news : sleep(RETRY_EVERY_MS));
      } catch (error) {
        if (stop.aborted) return;
        if (isIncumbentError(error, 'STALE_TERM')) return this.#options.deposed(error.details.seen);
        if (performance.now() - answeredAt > LAG_MS) await this.#ask(id, false);
        await sleep(RETRY_EVERY_MS);
      }
    }
  }

  async #append(id: string, offset: number, entries: readonly Entry[]): Promise<number | undefined> {
    const { partition, self, log, peers } = this.#options;
    const after = log.positionOf(offset);
    return peers.append(id, { partition, leader: self, leaderEpoch: this.epoch, after, entries, committed: this.#committed });
  }

  /**
   * Requests one change at a time, for the present partition. `update` shows whether it was made.
   */
  async #ask(id: string, inSync: boolean): Promise<void> {
    this.#asks = this.#asks.then(async () => {
      const { isr, version } = this.#partition;
      const isSo = isr.includes(id) === inSync && (inSync || !this.#joining.has(id));
      if (this.#over.signal.aborted || isSo) return;
      if (inSync) this.#joining.add(id);
      const wished = inSync ? [...isr, id] : isr.filter((other) => other !== id);
      await this.#alterIsr({ partition: this.#options.partition, leaderEpoch: this.epoch, version, isr: wished });
    });
    await this.#asks;
  }

  async #alterIsr(request: AlterIsr): Promise<void> {
    try {
      const answer = await this.#options.peers.alterIsr(request);
      // This request was certainly rejected; an earlier one for the same change may still arrive.
      if (answer.version === request.version && this.#unanswered !== request.version) this.#joining.clear();
      this.update(answer);
    } catch (error) {
      if (isIncumbentError(error, 'STALE_TERM')) return this.#options.deposed(error.details.seen);
      this.#unanswered = request.version;
      await sleep(RETRY_EVERY_MS); // no controller now, or no answer: the wish is made again
    }
  }
}
