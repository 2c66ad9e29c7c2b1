/** A few processes, one store and one clock, for unit tests of code that leads. */

import { ElectionObserver, type Entry, Member, type MemberOptions, type ObserverOptions, type Random, type Store } from '@incumbent/core';
import { invalidText } from '@incumbent/core/adapter';
import { PausableClock, seeded } from '@incumbent/core/testing';
import { ManualClock, type RunOptions } from './manual-clock.ts';
import type { MemoryServerOptions } from './options.ts';
import { MemoryServer, type MemoryStore } from './store.ts';

export type TestClusterOptions = Omit<MemoryServerOptions, 'clock'>;

/** A process of the cluster, by the `memberId` that it has, or a member in it. */
export type Who = string | { readonly memberId: string };

/** What a process of the cluster is given: `new Member(store, options)`. */
export interface TestProcess {
  readonly store: Store;
  readonly options: MemberOptions & { readonly memberId: string };
}

interface Process {
  readonly id: string;
  readonly store: MemoryStore;
  readonly clock: PausableClock;
  readonly random: Random;
  /** What the cluster has made in it. */
  readonly closers: (() => Promise<void>)[];
}

/** Of its own for each cluster, so that a test repeats itself. */
const SEED = 1;

/**
 * Processes that share a store in memory and a clock that stands still until the test moves it. Each has a link to the store and a clock of its own, so
 * that one can be cut off, paused or crashed while the others go on; nothing waits for real time, and every run is the same.
 *
 * A process is named by its member id, and is there from the first time that it is named. Faults last until {@link TestCluster.heal} or
 * {@link TestCluster.resume}.
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

  /** What a process makes its own members of. They are the test's to close. */
  process(memberId: string): TestProcess {
    const { store, clock, random } = this.#process(memberId);
    return { store, options: { memberId, clock, random } };
  }

  /** A member in the process of its name, closed with the cluster. */
  member(memberId: string, options: Omit<MemberOptions, 'memberId' | 'clock'> = {}): Member {
    const { store, clock, random, closers } = this.#process(memberId);
    const member = new Member(store, { memberId, clock, random, ...options });
    closers.push(() => member.close());
    return member;
  }

  /** An observer in a process of its own (`observer-1`, `observer-2`, …), closed with the cluster. */
  observer<V = unknown>(election: string, options: Omit<ObserverOptions<V>, 'clock'> = {}): ElectionObserver<V> {
    this.#observers += 1;
    const { store, clock, random, closers } = this.#process(`observer-${this.#observers}`);
    const observer = new ElectionObserver<V>(store, election, { clock, random, ...options });
    closers.push(() => observer.close());
    return observer;
  }

  /** Lets `ms` pass; 0 only lets promises settle. */
  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  /** Lets time pass until the promise settles, and settles as it does. Rejects when it has not within `withinMs`, one hour by default. */
  async run<T>(promise: Promise<T>, options: RunOptions = {}): Promise<T> {
    return this.clock.run(promise, options);
  }

  /** Ends the live lease of a member, as though it had not been renewed in time. Throws a `RangeError` where it has none. */
  expireLease(who: Who): void {
    const id = idOf(who);
    const lease = this.#memberEntry(id)?.lease;
    if (lease === undefined) throw invalidText('member', id, 'one that has a lease: it takes one when it first campaigns or joins');
    this.server.expireLease(lease);
  }

  /** The network between a process and the store swallows everything, both ways. */
  cutOff(who: Who): void {
    this.#find(who).store.link.cutOff();
  }

  /** Ends the cut. */
  heal(who: Who): void {
    this.#find(who).store.link.heal();
  }

  /** The process stands still, as by SIGSTOP or a long collection of garbage: no timer of it runs, and no answer reaches it. Its clocks go on. */
  pause(who: Who): void {
    const { clock, store } = this.#find(who);
    clock.pause();
    store.link.stall();
  }

  /** It goes on. What is due and what has come meanwhile is there at once. */
  resume(who: Who): void {
    const { clock, store } = this.#find(who);
    clock.resume();
    store.link.heal();
  }

  /** The process is gone, for good: its lease runs out. Its name may be taken by a new one. */
  crash(who: Who): void {
    const { id, clock, store } = this.#find(who);
    clock.pause();
    store.link.cutOff();
    this.#processes.delete(id);
  }

  /** Closes every member and observer, and the store. Faults are over first. */
  async close(): Promise<void> {
    const processes = [...this.#processes.values()];
    for (const { id } of processes) this.resume(id);
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
    const process = { id, clock, random: seeded(this.#random.u32()), store: this.server.connect({ clock }), closers: [] };
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
