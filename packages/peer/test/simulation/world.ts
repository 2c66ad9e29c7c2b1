/** A world from its first event to its last: a storm, then calm, in which the members must elect, leave the leader alone, and follow a dead one. */

import { Livelock, Scheduler, streamOf, Trace, type Stream } from '@incumbent/simulator/time';
import { quorum } from '../../src/index.ts';
import type { QuorumAlgorithm } from '../../src/quorum/quorum.ts';
import { Checks, type Violation } from './checks.ts';
import { Network } from './network.ts';
import type { Fault, Plan, Shape, Strike, Trigger } from './plan.ts';
import { Seat, type Surroundings } from './seat.ts';

export interface Outcome {
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  readonly counts: ReadonlyMap<string, number>;
  readonly hash: string;
  readonly events: number;
  /** From the end of the storm, and from a leader's crash, until somebody believed, in longest election timeouts. */
  readonly recoveredAfter: number;
  readonly failedOverAfter: number;
}

/** In calm somebody leads by then, in longest election timeouts: a pause after the start, a promise, and a few split votes. */
const BOUND = 15;

export function run(plan: Plan, note: (what: string, atMs: number) => void = () => {}): Outcome {
  const world = new World(plan, note);
  try {
    world.play();
  } catch (error) {
    if (!(error instanceof Livelock)) throw error;
    world.checks.fail('the world goes on', world.scheduler.nowMs, error.message);
  }
  const { checks, trace, scheduler, recoveredAfter, failedOverAfter } = world;
  return {
    plan,
    violations: checks.violations,
    counts: checks.counts,
    hash: trace.hash,
    events: scheduler.ran,
    recoveredAfter,
    failedOverAfter,
  };
}

class World implements Surroundings {
  readonly seed: number;
  readonly shape: Shape;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly algorithm: QuorumAlgorithm;
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
  readonly #waiting: Map<string, Fault[]>;
  readonly #counts = new Map<Trigger, number>();

  constructor({ seed, shape, faults }: Plan, note: (what: string, atMs: number) => void) {
    const { members, electionTimeoutMinMs, electionTimeoutMaxMs, heartbeatEveryMs, drainMs, clockErrorRatio, tieBreak } = shape;
    this.seed = seed;
    this.shape = shape;
    this.#note = note;
    this.#faults = faults;
    this.#random = streamOf(seed, 'world');
    this.scheduler = new Scheduler(streamOf(seed, 'order'));
    this.network = new Network(this.scheduler, streamOf(seed, 'network'), shape.latencyMs);
    this.algorithm = quorum({ members, electionTimeoutMinMs, electionTimeoutMaxMs, heartbeatEveryMs, drainMs, clockErrorRatio, tieBreak });
    this.checks = new Checks(shape);
    this.seats = members.map((id, i) => new Seat(id, this, shape.rates[i] ?? 1));
    this.#waiting = Map.groupBy(faults, ({ when }) => ('on' in when ? `${when.on} ${when.nth}` : ''));
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

  play(): void {
    const { stormMs, electionTimeoutMaxMs: maxMs, outcast, outcastHow } = this.shape;
    for (const seat of this.seats) this.scheduler.after(this.#random.below(20), () => seat.start());
    for (const fault of this.#faults) if ('atMs' in fault.when) this.scheduler.at(fault.when.atMs, () => this.#strike(fault, undefined));
    this.#pass(stormMs);
    this.#calmDown();
    const readmit = outcast === undefined ? undefined : this.network.isolate(outcast, outcastHow);
    const termsBefore = this.seats.map(({ term }) => term);
    this.recoveredAfter = this.#untilLed('elected once a majority is connected', outcast);
    // Promises of before, and late messages, are over.
    this.#pass(4 * maxMs);
    this.#quiet('an undisturbed leader stays', 3 * maxMs, outcast);
    if (readmit !== undefined) {
      this.#keptQuiet(outcast, termsBefore);
      readmit();
      this.checks.count('returned');
      this.#quiet('a returning member disturbs nobody', 3 * maxMs, undefined);
    }
    this.#agree();
    this.#failOver();
  }

  #failOver(): void {
    const leader = this.#leader();
    if (leader === undefined || this.seats.length < 3) return;
    leader.crash(true);
    this.failedOverAfter = this.#untilLed('a crashed leader is followed', leader.id);
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

  #leader(): Seat | undefined {
    return this.seats.find((seat) => seat.believes);
  }

  /** Somebody other than `but`; or it, if it still believes. In longest election timeouts. */
  #untilLed(promise: string, but: string | undefined): number {
    const { electionTimeoutMaxMs: maxMs } = this.shape;
    const sinceMs = this.scheduler.nowMs;
    while (this.scheduler.nowMs < sinceMs + BOUND * maxMs) {
      const leader = this.#leader();
      if (leader !== undefined && leader.id !== but) return (this.scheduler.nowMs - sinceMs) / maxMs;
      this.#pass(Math.ceil(maxMs / 20));
    }
    this.checks.fail(promise, this.scheduler.nowMs, `nobody believes ${BOUND} election timeouts after`);
    return BOUND;
  }

  /** Whoever leads now leads still after a while; unless a member that was cut off while it asked for votes has a newer term. */
  #quiet(promise: string, forMs: number, but: string | undefined): void {
    const leader = this.#leader();
    if (leader === undefined) return this.checks.fail(promise, this.scheduler.nowMs, 'nobody leads');
    const { term } = leader;
    if (this.seats.some((seat) => seat.id !== but && seat.term > term)) {
      this.checks.count('a newer term came back');
      return this.#pass(5 * forMs);
    }
    this.#pass(forMs);
    if (leader.believes && leader.term === term) return undefined;
    return this.checks.fail(
      promise,
      this.scheduler.nowMs,
      `${leader.id} led term ${term}, and now ${this.#leader()?.id ?? 'nobody'} leads`,
    );
  }

  /** In calm everybody sees who leads, and in which term: whoever had a newer one has told of it by now. */
  #agree(): void {
    const views = this.seats.map((seat) => seat.view);
    if (new Set(views).size > 1) this.checks.fail('all see who leads', this.scheduler.nowMs, views.join(', '));
  }

  /** It may have been about to raise the term when it was cut off; from then on nobody has encouraged it. */
  #keptQuiet(outcast: string | undefined, termsBefore: readonly bigint[]): void {
    const { term, id } = this.seats.find((seat) => seat.id === outcast) ?? { term: 0n, id: '' };
    const others = this.seats.flatMap((seat, i) => (seat.id === outcast ? [] : [seat.term, termsBefore[i] ?? 0n]));
    const known = [...others, termsBefore[this.shape.members.indexOf(id)] ?? 0n].reduce((a, b) => (a > b ? a : b));
    if (term > known + 1n)
      this.checks.fail('whoever hears nobody raises no term', this.scheduler.nowMs, `${id} has term ${term}, after ${known}`);
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
      default:
        return strike satisfies never;
    }
  }

  #find(target: string, subject: string | undefined): Seat | undefined {
    if (target === 'leader') return this.#leader();
    return this.seats.find(({ id }) => id === (target === 'subject' ? subject : target));
  }
}
