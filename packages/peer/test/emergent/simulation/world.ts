/** A world from its first event to its last: a storm, then calm, in which the sides must find together, stay as they are, and follow a dead coordinator. */

import { Livelock, Scheduler, streamOf, Trace, type Stream } from '@incumbent/simulator/time';
import { emergent, type EmergentAlgorithm } from '../../../src/index.ts';
import { Network } from '../../simulation/network.ts';
import { Checks, type Violation } from './checks.ts';
import type { Fault, Plan, Shape, Strike } from './plan.ts';
import { Seat, type Surroundings } from './seat.ts';

export interface Outcome {
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  readonly counts: ReadonlyMap<string, number>;
  readonly hash: string;
  readonly events: number;
  /** From the end of the storm, and from a coordinator's crash, until all agreed again, in failure timeouts. */
  readonly recoveredAfter: number;
  readonly failedOverAfter: number;
}

/** In calm all agree by then, in failure timeouts: attempts to join that are spent in vain, a failure, a search, a merge, and a few that cross. */
const BOUND = 20;

export function run(plan: Plan, note: (what: string, atMs: number) => void = () => {}): Outcome {
  const world = new World(plan, note);
  try {
    world.play();
  } catch (error) {
    if (!(error instanceof Livelock)) throw error;
    world.checks.fail('the world goes on', world.scheduler.nowMs, error.message);
  }
  const { checks, trace, scheduler, recoveredAfter, failedOverAfter } = world;
  const { violations, counts } = checks;
  return { plan, violations, counts, hash: trace.hash, events: scheduler.ran, recoveredAfter, failedOverAfter };
}

class World implements Surroundings {
  readonly seed: number;
  readonly shape: Shape;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly algorithm: EmergentAlgorithm;
  readonly checks: Checks;
  readonly trace = new Trace();
  readonly seats: readonly Seat[];
  calm = false;
  recoveredAfter = 0;
  failedOverAfter = 0;
  readonly #note: (what: string, atMs: number) => void;
  readonly #random: Stream;
  readonly #faults: readonly Fault[];
  readonly #mends = new Set<() => void>();

  constructor({ seed, shape, faults }: Plan, note: (what: string, atMs: number) => void) {
    this.seed = seed;
    this.shape = shape;
    this.#note = note;
    this.#faults = faults;
    this.#random = streamOf(seed, 'world');
    this.scheduler = new Scheduler(streamOf(seed, 'order'));
    this.network = new Network(this.scheduler, streamOf(seed, 'network'), shape.latencyMs);
    this.algorithm = emergent(shape.options);
    this.checks = new Checks(shape);
    this.seats = shape.members.map((id, i) => new Seat(id, this, shape.rates[i] ?? 1));
  }

  noted(what: string): void {
    this.trace.add(what, this.scheduler.nowMs);
    this.#note(what, this.scheduler.nowMs);
  }

  play(): void {
    const { stormMs, failureTimeoutMs, startWithinMs } = this.shape;
    for (const seat of this.seats) this.scheduler.after(this.#random.below(startWithinMs), () => seat.start());
    for (const fault of this.#faults) this.scheduler.at(fault.atMs, () => this.#strike(fault));
    this.#pass(stormMs);
    this.#calmDown();
    this.recoveredAfter = this.#untilAgreed('in calm all agree');
    this.#quiet(10 * failureTimeoutMs);
    this.#failOver();
  }

  #failOver(): void {
    const first = this.seats.find((seat) => seat.coordinates);
    if (first === undefined || this.checks.violations.length > 0) return;
    first.crash();
    this.failedOverAfter = this.#untilAgreed('a crashed coordinator is followed');
  }

  #calmDown(): void {
    this.calm = true;
    for (const mend of [...this.#mends]) mend();
    for (const seat of this.seats) seat.start();
    this.noted('calm');
  }

  #pass(ms: number): void {
    const untilMs = this.scheduler.nowMs + ms;
    let over = false;
    this.scheduler.at(untilMs, () => {
      over = true;
    });
    while (!over && this.scheduler.step());
  }

  /** In failure timeouts. */
  #untilAgreed(promise: string): number {
    const { failureTimeoutMs } = this.shape;
    const sinceMs = this.scheduler.nowMs;
    while (this.scheduler.nowMs < sinceMs + BOUND * failureTimeoutMs) {
      if (this.#disagreement() === undefined) return (this.scheduler.nowMs - sinceMs) / failureTimeoutMs;
      this.#pass(Math.ceil(failureTimeoutMs / 10));
    }
    this.checks.fail(promise, this.scheduler.nowMs, this.#disagreement() ?? 'at last');
    return BOUND;
  }

  /** What is not yet as it is to be; undefined: nothing. */
  #disagreement(): string | undefined {
    const up = this.seats.filter((seat) => seat.up);
    const lists = new Set(up.map(({ membership }) => JSON.stringify(membership)));
    const [membership] = up.map((seat) => seat.membership);
    if (lists.size !== 1 || membership === undefined || membership.members.length !== up.length) return [...lists].join(' and ');
    const keepers = up.filter((seat) => seat.coordinates).map(({ id }) => id);
    if (keepers.length !== 1 || keepers[0] !== membership.coordinator) return `coordinators: ${keepers.join(', ')}`;
    const leaders = up.filter((seat) => seat.believes).map(({ id }) => id);
    const isLed = membership.isEnough && membership.members.some(({ memberId }) => !this.shape.bystanders.includes(memberId));
    const expected = isLed ? [membership.coordinator] : [];
    if (JSON.stringify(leaders) !== JSON.stringify(expected)) return `led by ${leaders.join(', ')}, not by ${expected.join(', ')}`;
    const views = new Set(up.map(({ view }) => view));
    return views.size === 1 ? undefined : `views: ${[...views].join(', ')}`;
  }

  /** Nothing changes where nothing happens. */
  #quiet(forMs: number): void {
    if (this.checks.violations.length > 0) return;
    // Somebody may still be about to stand again, or be taken for somebody by a message of long ago.
    this.#pass(7 * this.shape.failureTimeoutMs);
    const version = this.seats[0]?.membership?.version;
    this.#pass(forMs);
    const problem = this.#disagreement() ?? (this.seats[0]?.membership?.version === version ? undefined : 'the version has changed');
    if (problem !== undefined) this.checks.fail('nothing changes where nothing happens', this.scheduler.nowMs, problem);
  }

  #strike(fault: Fault): void {
    if (this.calm) return;
    const undo = this.#hit(fault);
    if (undo === undefined) return;
    this.checks.count(`struck ${fault.kind}`);
    this.noted(`struck by ${fault.kind}`);
    const mend = (): void => {
      if (this.#mends.delete(mend)) undo();
    };
    this.#mends.add(mend);
    if ('forMs' in fault) this.scheduler.after(fault.forMs, mend);
  }

  /** Returns what mends it; undefined where there was nobody to strike. */
  #hit(strike: Strike): (() => void) | undefined {
    const seat = 'target' in strike ? this.#find(strike.target) : this.seats[0];
    if (seat === undefined || !seat.up) return undefined;
    switch (strike.kind) {
      case 'crash':
        seat.crash();
        return () => seat.start();
      case 'leave':
        seat.leave();
        return () => seat.start();
      case 'pause':
        return seat.stand('paused');
      case 'block':
        return seat.stand('blocked');
      case 'suspend':
        return seat.stand('suspended');
      case 'isolate':
        return this.network.isolate(seat.id, strike.how);
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
        seat.jumpWall(strike.byMs);
        return () => {};
      default:
        return strike satisfies never;
    }
  }

  #find(target: string): Seat | undefined {
    return this.seats.find((seat) => (target === 'coordinator' ? seat.coordinates : seat.id === target));
  }
}
