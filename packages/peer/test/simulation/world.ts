/** Runs one world: a storm of faults, then a calm in which the algorithm must keep its promises. */

import { Livelock, Scheduler, streamOf, Trace, type Stream } from '@incumbent/simulator/time';
import type { Algorithm, Safety } from '../../src/index.ts';
import { Network } from './network.ts';
import type { Checks, Said } from './checks.ts';
import type { Ground, Plan, FaultKind, Trigger } from './faults.ts';
import type { Run } from './run.ts';
import { ECHO_UNITS, SimulatedMember, type MemberWorld } from './simulated-member.ts';
import type { Note, Outcome } from './simulation.ts';
import { Weather, type Site } from './weather.ts';

export abstract class World<S extends Safety, G extends Ground, C extends Checks<S>> implements MemberWorld<S>, Site<S> {
  readonly seed: number;
  readonly shape: G;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly algorithm: Algorithm<S>;
  readonly checks: C;
  readonly members: readonly SimulatedMember<S>[];
  readonly random: Stream;
  calm = false;
  /** See `Outcome`. */
  protected recoveredAfter = 0;
  protected failedOverAfter = 0;
  readonly #plan: Plan<G>;
  readonly #trace = new Trace();
  readonly #note: Note;
  readonly #weather: Weather<S>;

  constructor(plan: Plan<G>, algorithm: Algorithm<S>, checks: C, note: Note = () => {}) {
    const { seed, shape, faults } = plan;
    this.#plan = plan;
    this.seed = seed;
    this.shape = shape;
    this.#note = note;
    this.random = streamOf(seed, 'world');
    this.scheduler = new Scheduler(streamOf(seed, 'order'));
    this.network = new Network(this.scheduler, streamOf(seed, 'network'), shape.latencyMs);
    this.algorithm = algorithm;
    this.checks = checks;
    this.members = shape.members.map((id, i) => new SimulatedMember(id, this, shape.rates[i] ?? 1));
    this.#weather = new Weather(faults, this);
  }

  /**
   * Runs the world from its first event to its last. A world that does not finish has failed, too.
   */
  run(): Outcome<G> {
    try {
      this.play();
    } catch (error) {
      if (!(error instanceof Livelock)) throw error;
      this.checks.fail('the world goes on', this.scheduler.nowMs, error.message);
    }
    const { recoveredAfter, failedOverAfter } = this;
    const { violations, counts } = this.checks;
    return { plan: this.#plan, violations, counts, hash: this.#trace.hash, events: this.scheduler.ran, recoveredAfter, failedOverAfter };
  }

  get runs(): readonly Run<S>[] {
    return this.members.flatMap(({ run }) => run ?? []);
  }

  begin(run: Run<S>): void {
    this.campaign(run);
  }

  /** Does nothing if the member only votes. */
  campaign({ process, driver }: Run<S>): void {
    if (!this.shape.bystanders.includes(process.id)) driver.command({ type: 'campaign' });
  }

  failed(_run: Run<S>, why: string): void {
    this.checks.count(`failed ${why}`);
  }

  deliver(to: string, from: string, message: Said): void {
    this.members.find(({ id }) => id === to)?.receive(from, message);
  }

  reachOf(_id: string): bigint {
    return 0n;
  }

  noted(what: string): void {
    this.#trace.add(what, this.scheduler.nowMs);
    this.#note(what, this.scheduler.nowMs);
  }

  happened(trigger: Trigger, subject: string): void {
    this.#trace.add(trigger, this.scheduler.nowMs);
    this.#weather.happened(trigger, subject);
  }

  injected(kind: FaultKind['kind']): void {
    this.checks.count(`injected ${kind}`);
    this.#note(`injected by ${kind}`, this.scheduler.nowMs);
  }

  /** The member that leads. */
  leader(): SimulatedMember<S> | undefined {
    return this.members.find((member) => member.isValid);
  }

  protected abstract play(): void;

  /** Starts all members and runs the storm. Then restarts the members that are down. */
  protected rage(): void {
    for (const member of this.members) this.scheduler.after(this.random.below(this.shape.startWithinMs), () => member.start());
    this.#weather.begin();
    this.pass(this.shape.stormMs);
    this.calm = true;
    this.#weather.end();
    for (const member of this.members) member.start();
    this.noted('calm');
  }

  protected pass(ms: number): void {
    const untilMs = this.scheduler.nowMs + ms;
    let over = false;
    this.scheduler.at(untilMs, () => {
      over = true;
    });
    while (!over && this.scheduler.step());
  }

  /** Waits until no old message can arrive again. */
  protected settle(): void {
    this.pass(ECHO_UNITS * this.shape.unitMs);
  }

  /**
   * Asks at regular intervals what is missing. Undefined: nothing. If something is still missing
   * after `withinMs`, the promise is broken. Returns the time that it took, in ms.
   */
  protected until(promise: string, withinMs: number, everyMs: number, missing: () => string | undefined): number {
    const sinceMs = this.scheduler.nowMs;
    for (;;) {
      const what = missing();
      const tookMs = this.scheduler.nowMs - sinceMs;
      if (what === undefined) return tookMs;
      if (tookMs >= withinMs) {
        this.checks.fail(promise, this.scheduler.nowMs, `not after ${withinMs} ms: ${what}`);
        return tookMs;
      }
      this.pass(Math.ceil(everyMs));
    }
  }
}
