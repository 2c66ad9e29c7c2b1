/** A world's weather: faults at their times, or on the heels of what was just said, until it is calm. */

import { Livelock, Scheduler, streamOf, Trace, type Stream } from '@incumbent/simulator/time';
import type { Algorithm, Safety } from '../../src/index.ts';
import { Network } from './network.ts';
import type { Fault, Ground, Plan, Strike, Trigger } from './plan.ts';
import { Seat, type Surroundings, type Watch } from './seat.ts';

export type Note = (what: string, atMs: number) => void;

export abstract class Storm<S extends Safety, G extends Ground, W extends Watch<S>> implements Surroundings<S> {
  readonly seed: number;
  readonly shape: G;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly algorithm: Algorithm<S>;
  readonly checks: W;
  readonly trace = new Trace();
  readonly seats: readonly Seat<S>[];
  calm = false;
  readonly #note: Note;
  readonly #random: Stream;
  readonly #faults: readonly Fault[];
  readonly #mends = new Set<() => void>();
  readonly #waiting: Map<string, Fault[]>;
  readonly #counts = new Map<Trigger, number>();

  constructor({ seed, shape, faults }: Plan<G>, algorithm: Algorithm<S>, checks: W, note: Note) {
    this.seed = seed;
    this.shape = shape;
    this.#note = note;
    this.#faults = faults;
    this.#random = streamOf(seed, 'world');
    this.scheduler = new Scheduler(streamOf(seed, 'order'));
    this.network = new Network(this.scheduler, streamOf(seed, 'network'), shape.latencyMs);
    this.algorithm = algorithm;
    this.checks = checks;
    this.seats = shape.members.map((id, i) => new Seat(id, this, shape.rates[i] ?? 1));
    this.#waiting = Map.groupBy(faults, ({ when }) => ('on' in when ? `${when.on} ${when.nth}` : ''));
  }

  /** From its first event to its last. A world that does not come to an end has failed, too. */
  run(): void {
    try {
      this.play();
    } catch (error) {
      if (!(error instanceof Livelock)) throw error;
      this.checks.fail('the world goes on', this.scheduler.nowMs, error.message);
    }
  }

  reachOf(_id: string): bigint {
    return 0n;
  }

  noted(what: string): void {
    this.trace.add(what, this.scheduler.nowMs);
    this.#note(what, this.scheduler.nowMs);
  }

  happened(trigger: Trigger, subject: string): void {
    this.trace.add(trigger, this.scheduler.nowMs);
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
    for (const seat of this.seats) this.scheduler.after(this.#random.below(20), () => seat.start());
    for (const fault of this.#faults) if ('atMs' in fault.when) this.scheduler.at(fault.when.atMs, () => this.#strike(fault, undefined));
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

  protected leader(): Seat<S> | undefined {
    return this.seats.find((seat) => seat.believes);
  }

  #strike(fault: Fault, subject: string | undefined): void {
    if (this.calm) return;
    const undo = this.#hit(fault, subject);
    if (undo === undefined) return;
    this.checks.count(`struck ${fault.kind}`);
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
