/** Several members of a best-effort algorithm in one process, on a manual clock. */

import type { Cancel, Clock } from '@incumbent/core';
import { seeded } from '@incumbent/core/testing';
import { ManualClock } from '@incumbent/memory';
import { MemoryNetwork, PeerMember, type PeerLeadership } from '../../src/index.ts';
import { PairLogs } from '../pairs.ts';
import { algorithmOf, type Name, type Options } from './algorithms.ts';

/** The clocks of one machine. While it sleeps, its wall clock alone goes on. */
class MachineClock implements Clock {
  readonly #clock: Clock;
  sleptMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  wall(): number {
    return this.#clock.wall() + this.sleptMs;
  }

  schedule(delayMs: number, task: () => void): Cancel {
    return this.#clock.schedule(delayMs, task);
  }

  keepAlive(): Cancel {
    return this.#clock.keepAlive();
  }
}

export class Group {
  readonly clock = new ManualClock();
  readonly network = new MemoryNetwork({ clock: this.clock });
  /** All leaderships, in the order in which they started. */
  readonly led: PeerLeadership<'bestEffort'>[] = [];
  readonly #machines = new Map<string, MachineClock>();
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
    const clock = new MachineClock(this.clock);
    this.#machines.set(memberId, clock);
    const member = new PeerMember({
      algorithm,
      transport: this.network,
      memberId,
      clock,
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

  /** The machine of this member wakes up. It has slept for so long. */
  sleep(id: string, sleptMs: number): void {
    const machine = this.#machines.get(id);
    if (machine === undefined) throw new RangeError(`there is no member ${id}`);
    machine.sleptMs += sleptMs;
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
