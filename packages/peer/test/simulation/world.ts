/** A world from its first event to its last: a storm of faults at their times, or on the heels of what was just said, then calm, in which an algorithm shows what it promises. */

import { Livelock, Scheduler, streamOf, Trace, type Stream } from '@incumbent/simulator/time';
import type { Algorithm, Safety } from '../../src/index.ts';
import { Network } from './network.ts';
import type { Checks, Said } from './checks.ts';
import type { Fault, Ground, Plan, Strike, Trigger } from './faults.ts';
import type { Run } from './run.ts';
import { ECHO_UNITS, Seat, type Room } from './seat.ts';
import type { Note, Outcome } from './simulation.ts';

export abstract class World<S extends Safety, G extends Ground, C extends Checks<S>> implements Room<S> {
  readonly seed: number;
  readonly shape: G;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly algorithm: Algorithm<S>;
  readonly checks: C;
  readonly seats: readonly Seat<S>[];
  calm = false;
  /** As in `Outcome`. */
  protected recoveredAfter = 0;
  protected failedOverAfter = 0;
  readonly #plan: Plan<G>;
  readonly #trace = new Trace();
  readonly #note: Note;
  readonly #random: Stream;
  readonly #mends = new Set<() => void>();
  readonly #waiting: Map<string, Fault[]>;
  readonly #counts = new Map<Trigger, number>();

  constructor(plan: Plan<G>, algorithm: Algorithm<S>, checks: C, note: Note = () => {}) {
    const { seed, shape, faults } = plan;
    this.#plan = plan;
    this.seed = seed;
    this.shape = shape;
    this.#note = note;
    this.#random = streamOf(seed, 'world');
    this.scheduler = new Scheduler(streamOf(seed, 'order'));
    this.network = new Network(this.scheduler, streamOf(seed, 'network'), shape.latencyMs);
    this.algorithm = algorithm;
    this.checks = checks;
    this.seats = shape.members.map((id, i) => new Seat(id, this, shape.rates[i] ?? 1));
    this.#waiting = Map.groupBy(faults, ({ when }) => ('on' in when ? `${when.on} ${when.nth}` : ''));
  }

  /** From its first event to its last. A world that does not come to an end has failed, too. */
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
    return this.seats.flatMap(({ run }) => run ?? []);
  }

  /** Stands for election, unless it only votes. */
  begin({ process, driver }: Run<S>): void {
    if (!this.shape.bystanders.includes(process.id)) driver.command({ type: 'campaign' });
  }

  failed(_run: Run<S>, why: string): void {
    this.checks.count(`failed ${why}`);
  }

  deliver(to: string, from: string, message: Said): void {
    this.seats.find(({ id }) => id === to)?.receive(from, message);
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
    if (this.calm) return;
    const nth = this.#counts.get(trigger) ?? 0;
    this.#counts.set(trigger, nth + 1);
    for (const fault of this.#waiting.get(`${trigger} ${nth}`) ?? []) {
      const afterMs = 'on' in fault.when ? fault.when.afterMs : 0;
      // Not within the step that did it: before anything else happens, all the same, as messages take their time.
      this.scheduler.after(afterMs, () => this.#strike(fault, subject));
    }
  }

  protected abstract play(): void;

  /** All start, and the storm passes. */
  protected rage(): void {
    for (const seat of this.seats) this.scheduler.after(this.#random.below(this.shape.startWithinMs), () => seat.start());
    for (const fault of this.#plan.faults)
      if ('atMs' in fault.when) this.scheduler.at(fault.when.atMs, () => this.#strike(fault, undefined));
    this.pass(this.shape.stormMs);
    this.#calmDown();
  }

  #calmDown(): void {
    this.calm = true;
    for (const mend of [...this.#mends]) mend();
    for (const seat of this.seats) seat.start();
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

  /** Until no message of before comes again. */
  protected settle(): void {
    this.pass(ECHO_UNITS * this.shape.unitMs);
  }

  /** Asks every so many ms what is missing; undefined: nothing. Where that lasts for longer than `withinMs`, the promise is broken. How long it took, in ms. */
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

  /** Whom a fault means by `leader`: whoever believes. */
  protected leader(): Seat<S> | undefined {
    return this.seats.find((seat) => seat.believes);
  }

  #strike(fault: Fault, subject: string | undefined): void {
    if (this.calm) return;
    const undo = this.#hit(fault, subject);
    if (undo === undefined) return;
    this.checks.count(`struck ${fault.kind}`);
    this.#note(`struck by ${fault.kind}`, this.scheduler.nowMs);
    const mend = (): void => {
      if (this.#mends.delete(mend)) undo();
    };
    this.#mends.add(mend);
    if ('forMs' in fault) this.scheduler.after(fault.forMs, mend);
  }

  /** Returns what mends it; undefined where there was nobody to strike. */
  #hit(strike: Strike, subject: string | undefined): (() => void) | undefined {
    const seat = 'target' in strike ? this.#find(strike.target, subject) : this.seats[0];
    if (seat === undefined || !seat.up) return undefined;
    switch (strike.kind) {
      case 'crash':
        seat.crash(strike.writeLost);
        return () => seat.start();
      case 'leave':
        seat.leave();
        return () => seat.start();
      case 'badDisk':
        seat.failWrite(strike.writeLost);
        return () => seat.start();
      case 'pause':
        return seat.stand('paused');
      case 'block':
        return seat.stand('blocked');
      case 'suspend':
        return seat.stand('suspended');
      case 'isolate':
        return this.network.isolate(seat.id, strike.how);
      case 'blip':
        for (const other of this.seats) if (other !== seat) other.crash(false);
        for (const other of this.seats) this.scheduler.after(this.#random.below(10), () => other.start());
        return this.network.isolate(seat.id, 'both');
      case 'split':
        return this.network.split(strike.side, strike.oneWay);
      case 'shatter': {
        const mends = strike.sides.map((side) => this.network.split(side, false));
        return () => mends.forEach((mend) => mend());
      }
      case 'bridge':
        return this.network.bridge(strike.side, seat.id);
      case 'lossy':
        return this.network.lose(strike.part);
      case 'duplicating':
        return this.network.duplicate(strike.part);
      case 'slow':
        return this.network.slow(strike.part, strike.byMs);
      case 'wallJump':
        seat.run?.process.jumpWall(strike.byMs);
        return () => {};
      case 'setBack':
        return seat.setBack(strike.byMs) ? () => {} : undefined;
      default:
        return strike satisfies never;
    }
  }

  #find(target: string, subject: string | undefined): Seat<S> | undefined {
    if (target === 'leader') return this.leader();
    return this.seats.find(({ id }) => id === (target === 'subject' ? subject : target));
  }
}
