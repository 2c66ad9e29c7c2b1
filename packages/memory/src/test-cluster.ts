/** A few simulated processes, one store and one clock, for unit tests of code that leads. */

import { type Clock, ElectionObserver, type Entry, Member, type MemberOptions, type ObserverOptions, type Random } from '@incumbent/core';
import { invalidText } from '@incumbent/core/adapter';
import { PausableClock, seeded } from '@incumbent/core/testing';
import { ManualClock, type RunOptions } from './manual-clock.ts';
import type { MemoryServerOptions } from './options.ts';
import { MemoryServer, type MemoryStore } from './store.ts';

/** The options of a {@link TestCluster}. */
export type TestClusterOptions = Omit<MemoryServerOptions, 'clock'>;

/** A process of the cluster: its `memberId`, or a member in the process. */
export type Who = string | { readonly memberId: string };

/** The store and the options of one process, for `new Member(store, options)`. */
export interface TestProcess {
  /** Its `link` offers finer faults than the cluster. */
  readonly store: MemoryStore;
  /** `clock` is the clock of the process: pass it to everything else that takes a clock, too. */
  readonly options: MemberOptions & { readonly memberId: string; readonly clock: Clock; readonly random: Random };
}

interface Process {
  readonly id: string;
  readonly store: MemoryStore;
  readonly clock: PausableClock;
  readonly random: Random;
  isCutOff: boolean;
  isPaused: boolean;
  /** Close the members and observers that the cluster has created. */
  readonly closers: (() => Promise<void>)[];
}

/** Every cluster uses the same random numbers, so that a test is the same in every run. */
const SEED = 1;

/**
 * Simulated processes that share a memory store, and a clock that stands still until the test moves
 * it. Each process has its own link to the store and its own clock, so that one can be cut off,
 * paused or crashed while the others continue. Nothing waits for real time, and every run is the
 * same.
 *
 * A process has the name of its member, and is created when it is first named. A process that is
 * cut off stays so until {@link TestCluster.heal}, and one that is paused until {@link
 * TestCluster.resume}.
 */
export class TestCluster implements AsyncDisposable {
  readonly clock: ManualClock = new ManualClock();
  readonly server: MemoryServer;
  readonly #random = seeded(SEED);
  readonly #processes = new Map<string, Process>();
  #observers = 0;

  constructor(options: TestClusterOptions = {}) {
    this.server = new MemoryServer({ ...options, clock: this.clock });
  }

  /** For members that the test creates itself. The test closes them. */
  process(memberId: string): TestProcess {
    const { store, clock, random } = this.#process(memberId);
    return { store, options: { memberId, clock, random } };
  }

  /** Creates a member in the process of its name. The cluster closes it. */
  member(memberId: string, options: Omit<MemberOptions, 'memberId' | 'clock'> = {}): Member {
    const { store, clock, random, closers } = this.#process(memberId);
    const member = new Member(store, { ...options, memberId, clock, random: options.random ?? random });
    closers.push(() => member.close());
    return member;
  }

  /**
   * Creates an observer in a process of its own (`observer-1`, `observer-2`, …). The cluster closes
   * it.
   */
  observer<V = unknown>(election: string, options: Omit<ObserverOptions<V>, 'clock'> = {}): ElectionObserver<V> {
    this.#observers += 1;
    const { store, clock, random, closers } = this.#process(`observer-${this.#observers}`);
    const observer = new ElectionObserver<V>(store, election, { ...options, clock, random: options.random ?? random });
    closers.push(() => observer.close());
    return observer;
  }

  /** Lets `ms` pass. 0 only lets promises settle. */
  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  /**
   * Lets time pass until the promise settles, and settles in the same way. Rejects if the promise
   * does not settle within `withinMs`, one hour by default.
   */
  async run<T>(promise: Promise<T>, options: RunOptions = {}): Promise<T> {
    return this.clock.run(promise, options);
  }

  /**
   * Ends the lease of a member, as if it had not been renewed in time.
   *
   * @throws `RangeError` if the member has no lease.
   */
  expireLease(who: Who): void {
    const id = idOf(who);
    const lease = this.#memberEntry(id)?.lease;
    if (lease === undefined) throw invalidText('member', id, 'one that has a lease: it takes one when it first campaigns or joins');
    this.server.expireLease(lease);
  }

  /** Loses all messages between a process and the store, in both directions. */
  cutOff(who: Who): void {
    const process = this.#find(who);
    process.isCutOff = true;
    process.store.link.cutOff();
  }

  /** Ends the fault of `cutOff`, and every fault that the test has set at the process's `link`. */
  heal(who: Who): void {
    const process = this.#find(who);
    process.isCutOff = false;
    // No message reaches a process that is paused.
    if (process.isPaused) process.store.link.stall();
    else process.store.link.heal();
  }

  /**
   * Stops a process, like SIGSTOP or a long garbage collection: its timers do not run, and no
   * message reaches it. Its clocks go on.
   */
  pause(who: Who): void {
    const process = this.#find(who);
    process.isPaused = true;
    process.clock.pause();
    if (!process.isCutOff) process.store.link.stall();
  }

  /**
   * Ends the fault of `pause`, and every fault that the test has set at the process's `link`.
   * Timers that are due run at once, and messages that have come arrive, unless the process is cut
   * off.
   */
  resume(who: Who): void {
    const process = this.#find(who);
    process.isPaused = false;
    process.clock.resume();
    if (!process.isCutOff) process.store.link.heal();
  }

  /** Ends a process for good, so that its lease expires. A new process may have its name. */
  crash(who: Who): void {
    const { id, clock, store } = this.#find(who);
    clock.pause();
    store.link.cutOff();
    this.#processes.delete(id);
  }

  /** Ends all faults, and closes every member, every observer and the store. */
  async close(): Promise<void> {
    const processes = [...this.#processes.values()];
    for (const process of processes) {
      process.isCutOff = false;
      this.resume(process.id);
    }
    await this.run(Promise.all(processes.flatMap(({ closers }) => closers.splice(0)).map((close) => close())));
    await this.server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #process(id: string): Process {
    const there = this.#processes.get(id);
    if (there !== undefined) return there;
    const clock = new PausableClock(this.clock);
    const store = this.server.connect({ clock });
    const process = { id, clock, random: seeded(this.#random.u32()), store, isCutOff: false, isPaused: false, closers: [] };
    this.#processes.set(id, process);
    return process;
  }

  #find(who: Who): Process {
    const id = idOf(who);
    const process = this.#processes.get(id);
    if (process === undefined)
      throw invalidText('process', id, `one of ${[...this.#processes.keys()].join(', ') || 'none: there is none yet'}`);
    return process;
  }

  #memberEntry(id: string): Entry | undefined {
    return this.server.entries().find(({ key }) => key === `members/${id}`);
  }
}

function idOf(who: Who): string {
  return typeof who === 'string' ? who : who.memberId;
}
