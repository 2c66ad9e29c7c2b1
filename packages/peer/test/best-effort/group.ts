/** Several members of a best-effort algorithm in one process, on a manual clock. */

import { seeded } from '@incumbent/core/testing';
import { ManualClock } from '@incumbent/memory';
import { MemoryNetwork, PeerMember, type PeerLeadership } from '../../src/index.ts';
import { PairLogs } from '../pairs.ts';
import { algorithmOf, type Name, type Options } from './algorithms.ts';

export class Group {
  readonly clock = new ManualClock();
  readonly network = new MemoryNetwork({ clock: this.clock });
  /** All leaderships, in the order in which they started. */
  readonly led: PeerLeadership<'bestEffort'>[] = [];
  readonly #members = new Map<string, PeerMember<'bestEffort'>>();
  readonly #name: Name;
  readonly #options: Options;
  readonly #logs = new PairLogs();
  #starts = 0;

  constructor(name: Name, members: readonly string[], options: Partial<Options> = {}) {
    this.#name = name;
    this.#options = { members, ...options };
  }

  /** A process with this id that does not campaign yet. */
  member(memberId: string): PeerMember<'bestEffort'> {
    this.#starts += 1;
    const algorithm = algorithmOf(this.#name, this.#options);
    const member = new PeerMember({
      algorithm,
      transport: this.network,
      memberId,
      clock: this.clock,
      random: seeded(this.#starts),
      logger: this.#logs.of(memberId),
    });
    this.#members.set(memberId, member);
    return member;
  }

  /** Campaigns all the time. */
  lead(...ids: readonly string[]): this {
    for (const id of ids) {
      const work = async (leadership: PeerLeadership<'bestEffort'>): Promise<void> => {
        this.led.push(leadership);
        await leadership.ended;
      };
      this.member(id)
        .lead(work)
        .catch(() => {});
    }
    return this;
  }

  of(id: string): PeerMember<'bestEffort'> {
    const member = this.#members.get(id);
    if (member === undefined) throw new RangeError(`there is no member ${id}`);
    return member;
  }

  async crash(id: string): Promise<void> {
    this.network.isolate(id);
    await this.clock.run(this.of(id).close());
    this.network.heal();
    this.#members.delete(id);
  }

  get leaders(): readonly string[] {
    return this.led.filter((leadership) => leadership.isValid()).map(({ memberId }) => memberId);
  }

  /** The leader that each running member sees. */
  get views(): readonly (string | undefined)[] {
    return [...this.#members.values()].map(({ current }) => (current.state === 'leader' ? current.memberId : undefined));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clock.run(Promise.all([...this.#members.values()].map((member) => member.close())));
    this.#logs.check();
  }
}
