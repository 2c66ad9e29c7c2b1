/** Several members in one process, on a manual clock. */

import type { Logger } from '@incumbent/core';
import { seeded } from '@incumbent/core/testing';
import { ManualClock } from '@incumbent/memory';
import { MemoryNetwork, MemoryStorage, PeerMember, quorum, type PeerMemberOptions, type QuorumOptions } from '../src/index.ts';
import { PairLogs } from './pairs.ts';

/** A storage whose writes can fail, hang or take a given time. */
export class TestStorage extends MemoryStorage {
  failure: Error | undefined;
  stalled = false;
  /** How long a write takes, in ms on the manual clock. */
  slow: { readonly clock: ManualClock; readonly writeMs: number } | undefined;
  isClosed = false;

  override async save(durable: unknown): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    if (this.stalled) await new Promise(() => {});
    if (this.slow !== undefined) await passed(this.slow.clock, this.slow.writeMs);
    await super.save(durable);
  }

  override async close(): Promise<void> {
    this.isClosed = true;
  }
}

async function passed(clock: ManualClock, ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    clock.schedule(ms, resolve);
  });
}

export class Group {
  readonly clock = new ManualClock();
  readonly network: MemoryNetwork;
  readonly storages = new Map<string, TestStorage>();
  readonly ids: readonly string[];
  readonly #options: Partial<QuorumOptions>;
  readonly members: PeerMember<'quorum'>[] = [];
  readonly #logs = new PairLogs();

  constructor(
    ids: readonly string[] = ['a', 'b', 'c'],
    options: Partial<QuorumOptions> = {},
    network: { readonly latencyMs?: number } = {},
  ) {
    this.network = new MemoryNetwork({ clock: this.clock, ...network });
    this.ids = ids;
    this.#options = options;
  }

  /**
   * Starts a process with this id. It uses the storage of the former process with this id, if there
   * was one.
   */
  member(memberId: string, options: Partial<PeerMemberOptions<'quorum'>> = {}): PeerMember<'quorum'> {
    const storage = this.storages.get(memberId) ?? new TestStorage();
    this.storages.set(memberId, storage);
    const member = new PeerMember({
      algorithm: quorum({ members: this.ids, ...this.#options }),
      transport: this.network,
      memberId,
      storage,
      clock: this.clock,
      random: seeded(memberId.charCodeAt(0) + this.members.length),
      ...options,
      logger: this.#logs.of(memberId, options.logger),
    });
    this.members.push(member);
    return member;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clock.run(Promise.all(this.members.map((member) => member.close())));
    this.#logs.check();
  }
}

/** Records log entries. */
export function logger(): Logger & { readonly lines: { readonly message: string; readonly fields: object }[] } {
  const lines: { message: string; fields: object }[] = [];
  const log = (fields: object, message: string): void => void lines.push({ message, fields });
  return { lines, debug: log, info: log, warn: log, error: log };
}
