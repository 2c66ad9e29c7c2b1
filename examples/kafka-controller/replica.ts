/**
 * One broker's replica of a partition: leader or follower, as the controller or a newer leader
 * determines.
 */

import { Fence } from 'incumbent';
import { PartitionLeader, type Peers } from './leader.ts';
import type { Append } from './messages.ts';
import { Log } from './log.ts';
import type { Partition } from './partitions.ts';
import { Unavailable } from './wire.ts';

export interface ReplicaOptions {
  readonly partition: string;
  readonly self: string;
  /** The file of its messages. */
  readonly path: string;
  readonly peers: Peers;
  /** Called when it starts or stops leading. */
  readonly changed: (leads: boolean, epoch: number) => void;
}

export class Replica {
  readonly #options: ReplicaOptions;
  readonly #log: Log;
  /** Rejects leaders with an epoch below the highest one that it has seen. */
  readonly #fence = new Fence();
  #leader: PartitionLeader | undefined;
  #committed = 0;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#log = new Log(options.path);
  }

  get leads(): boolean {
    return this.#leader !== undefined;
  }

  get epoch(): number {
    return Number(this.#fence.highest);
  }

  get end(): number {
    return this.#log.end;
  }

  get committed(): number {
    return this.#leader?.committed ?? this.#committed;
  }

  /**
   * Applies a message of the controller, which may be late: a newer leader may be known already.
   */
  apply(partition: Partition): void {
    const epoch = BigInt(partition.leaderEpoch);
    if (epoch < this.#fence.highest) return;
    this.#fence.admit(epoch);
    if (partition.leader !== this.#options.self) return this.#stepDown();
    if (this.#leader?.epoch === partition.leaderEpoch) return this.#leader.update(partition);
    this.#stepDown();
    const { partition: name, self, peers, changed } = this.#options;
    const deposed = (seen: bigint): void => this.#depose(seen);
    this.#leader = new PartitionLeader(partition, { partition: name, self, log: this.#log, peers, committed: this.#committed, deposed });
    changed(true, partition.leaderEpoch);
  }

  /** Applies a leader's messages. @throws `STALE_TERM` if a newer leader is known. */
  append({ leaderEpoch, after, entries, committed }: Append): number | undefined {
    this.#fence.admit(BigInt(leaderEpoch));
    if (this.#leader !== undefined && this.#leader.epoch < leaderEpoch) this.#stepDown();
    const again = this.#log.replace(after, entries);
    if (again === undefined) this.#committed = Math.max(this.#committed, Math.min(committed, after.offset + entries.length));
    return again;
  }

  /** For producers and consumers. */
  get leader(): PartitionLeader {
    if (this.#leader === undefined) throw new Unavailable(`${this.#options.self} does not lead ${this.#options.partition}`);
    return this.#leader;
  }

  /** Returns committed messages only. */
  read(from: number, limit: number): readonly string[] {
    const { committed } = this.leader;
    return this.#log.read(from, Math.max(0, Math.min(limit, committed - from))).map(({ value }) => value);
  }

  close(): void {
    this.#stepDown();
    this.#log.close();
  }

  /** To be called when the broker does not keep the partition any more. */
  remove(): void {
    this.#stepDown();
    this.#log.remove();
  }

  /** The rejected leader may be a former leadership of this replica itself. */
  #depose(seen: bigint): void {
    if (seen > this.#fence.highest) this.#fence.admit(seen);
    if (this.#leader !== undefined && BigInt(this.#leader.epoch) < seen) this.#stepDown();
  }

  #stepDown(): void {
    if (this.#leader === undefined) return;
    const { epoch, committed } = this.#leader;
    this.#leader.close();
    this.#leader = undefined;
    this.#committed = Math.max(this.#committed, committed);
    this.#options.changed(false, epoch);
  }
}
