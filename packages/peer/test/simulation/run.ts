/**
 * One run of a member: its process and its driver, until it crashes, and what it does as a leader.
 */

import { SimProcess, streamOf, type Scheduler, type Stream } from '@incumbent/simulator/time';
import { Driver, type Ports } from '../../src/driver.ts';
import type { Algorithm, PeerEndReason, PeerMembership, PeerView, Safety, TermOf } from '../../src/index.ts';
import type { Checks } from './checks.ts';
import { Clocks } from './clocks.ts';
import type { Ground, Trigger } from './faults.ts';

/** What a run needs from its world. */
export interface RunWorld<S extends Safety> {
  readonly seed: number;
  readonly shape: Ground;
  readonly scheduler: Scheduler;
  readonly algorithm: Algorithm<S>;
  readonly checks: Checks<S>;
  /** The members that are up. */
  readonly runs: readonly Run<S>[];
  /** Leaders do not give up. */
  readonly calm: boolean;
  /** How far the data of a member reach. */
  reachOf(id: string): bigint;
  happened(trigger: Trigger, subject: string): void;
  noted(what: string): void;
  /** The process has stopped. */
  failed(run: Run<S>, why: string): void;
}

export interface RunContext<S extends Safety> extends Pick<Ports<S>, 'send' | 'persist'> {
  readonly id: string;
  /** The number of this start of the member, from 1. */
  readonly starts: number;
  readonly rate: number;
  /** The data on its disk. Undefined: none. */
  readonly kept: unknown;
  readonly world: RunWorld<S>;
}

/** One leadership in so many meets a fence that has seen another term. */
const FENCED = 0.02;

export class Run<S extends Safety> {
  readonly process: SimProcess;
  readonly driver: Driver<S>;
  readonly clocks: Clocks;
  readonly #id: string;
  readonly #world: RunWorld<S>;
  readonly #unrest: Stream;
  readonly #fences: Stream;
  #membership: PeerMembership | undefined;

  constructor({ id, starts, rate, kept, world, send, persist }: RunContext<S>) {
    const { seed, shape, scheduler, algorithm } = world;
    this.#id = id;
    this.#world = world;
    this.#unrest = streamOf(seed, 'unrest', id, starts);
    this.#fences = streamOf(seed, 'fences', id, starts);
    this.clocks = new Clocks(shape.unitMs);
    this.process = new SimProcess(id, starts, scheduler, { rate, random: streamOf(seed, id, starts) });
    const now = { monotonicMs: this.process.monotonic(), wallMs: this.process.wall() };
    const durable = kept === undefined ? undefined : algorithm.readDurable(kept);
    const first = algorithm.start({ memberId: id, now, seed: streamOf(seed, 'chance', id, starts).u32(), durable });
    const reach = world.reachOf(id);
    this.driver = new Driver<S>(algorithm, first, {
      clock: this.process,
      position: () => ({ lastTerm: reach, lastIndex: 7n }),
      send,
      persist,
      elected: () => this.#elected(),
      ended: (reason) => this.#ended(reason),
      viewed: () => this.#stepped(),
      membership: (membership) => this.#changed(membership),
      conflict: ({ code }) => world.checks.fail('members do not contradict one another', world.scheduler.nowMs, `${this.name}: ${code}`),
      failed: (why) => world.failed(this, why),
    });
  }

  /** The member's id and the number of this start. */
  get name(): string {
    return this.process.name;
  }

  /** The newest term that it knows. */
  get term(): TermOf<S> {
    return this.driver.highestTerm;
  }

  get view(): PeerView<S> {
    return this.#world.algorithm.view(this.driver.state);
  }

  get membership(): PeerMembership | undefined {
    return this.#membership;
  }

  /** Its code may run. */
  get awake(): boolean {
    return this.process.state === 'running' || this.process.state === 'blocked';
  }

  isValid(): boolean {
    return this.driver.isValid();
  }

  /** None of its code runs any more. */
  kill(): void {
    this.process.kill();
    this.driver.stop();
  }

  #stepped(): void {
    const { algorithm, checks, scheduler } = this.#world;
    this.clocks.stepped(this.process.monotonic(), algorithm.validity(this.driver.state) !== undefined);
    checks.stepped(this.#id, this.driver.state, scheduler.nowMs);
  }

  #elected(): void {
    const { checks, scheduler, shape, calm, runs } = this.#world;
    checks.began(this.name, scheduler.nowMs);
    // The answer arrived while the machine slept. The first reading of the clocks ends the
    // leadership before the application learns of it.
    if (!this.isValid()) return checks.count('stillborn');
    this.#world.noted(`${this.name} elected in ${numberOf(this.view)}`);
    checks.count('elected');
    checks.elected(this.#id, this, runs, scheduler.nowMs);
    this.#world.happened('elected', this.#id);
    if (calm) return undefined;
    const withinMs = 3 * shape.unitMs;
    if (this.#unrest.chance(shape.unrest))
      this.process.schedule(this.#unrest.below(withinMs), () => this.#endLeadership(this.#unrest.chance(0.5)));
    if (this.#fences.chance(FENCED))
      this.process.schedule(this.#fences.below(withinMs), () => this.#reportTerm(BigInt(this.#fences.below(10))));
    return undefined;
  }

  #ended(reason: PeerEndReason): void {
    const { checks, scheduler, shape } = this.#world;
    checks.ended(this.name, scheduler.nowMs);
    this.#world.noted(`${this.name} ended: ${reason}`);
    checks.count(`ended ${reason}`);
    if (reason !== 'handover' && reason !== 'resigned') this.#release(undefined, this.#unrest.below(shape.drainMs + 1));
  }

  #changed(membership: PeerMembership | undefined): void {
    const { checks, scheduler } = this.#world;
    checks.changed(this.name, this.#membership, membership, scheduler.nowMs);
    this.#membership = membership;
    this.#world.noted(`${this.name} has ${membership === undefined ? 'left' : listOf(membership)}`);
  }

  /** A fence reports a newer term than this leader's, or an invalid one. */
  #reportTerm(by: bigint): void {
    if (this.#world.calm || !this.isValid() || by === 0n || this.term === undefined) return;
    const seen = this.term + by;
    this.driver.end('termBehind');
    this.driver.command({ type: 'seen', term: seen });
  }

  /** Resigns, or hands over if there is a successor, after the work has stopped. */
  #endLeadership(handOver: boolean): void {
    const { calm, checks, scheduler, shape } = this.#world;
    if (calm || !this.isValid()) return;
    const successor = handOver ? this.driver.successor(undefined) : undefined;
    this.driver.end(successor === undefined ? 'resigned' : 'handover');
    if (this.isValid()) checks.fail('validity ends before anybody is told', scheduler.nowMs, this.name);
    this.#release(successor, shape.drainMs);
  }

  #release(to: string | undefined, drainMs: number): void {
    this.process.schedule(drainMs, () => {
      this.driver.command({ type: 'release', to });
      this.process.schedule(1, () => this.driver.command({ type: 'campaign' }));
    });
  }
}

/** Describes the leadership that a view shows. */
export function numberOf<S extends Safety>(view: PeerView<S>): string {
  if (view.state !== 'leader') return 'none';
  return view.term === undefined ? `round ${view.round}` : `term ${view.term}`;
}

function listOf({ version, coordinator, members }: PeerMembership): string {
  return `version ${version} of ${coordinator}: ${members.map(({ memberId, standing }) => (standing ? memberId : `(${memberId})`)).join(' ')}`;
}
