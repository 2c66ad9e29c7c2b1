/** One seat of a world: a member's process, that comes and goes, and its disk, that stays. */

import { SimProcess, streamOf, type Scheduler } from '@incumbent/simulator/time';
import { Driver, type Written } from '../../src/driver.ts';
import type { Algorithm, AlgorithmState, PeerEndReason, Safety, TermOf } from '../../src/index.ts';
import { Clocks } from './clocks.ts';
import type { Network } from './network.ts';
import type { Ground, Trigger } from './plan.ts';

/** What must hold, told of what happens. */
export interface Watch<S extends Safety> {
  count(what: string): void;
  fail(promise: string, atMs: number, what: string): void;
  /** A message has left a member. */
  sent(from: string, to: string, message: Said, atMs: number): void;
  /** A member has made a step. */
  stepped(id: string, state: AlgorithmState, atMs: number): void;
  /** A member has begun to believe. */
  elected(id: string, self: Run<S>, all: readonly Run<S>[], atMs: number): void;
  /** Somebody has woken up: belief never comes back. */
  believers(all: readonly Run<S>[], atMs: number): void;
}

/** All that a world knows of a message. */
export interface Said {
  readonly type: string;
}

/** What a seat needs of its world. */
export interface Surroundings<S extends Safety> {
  readonly seed: number;
  readonly shape: Ground;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly algorithm: Algorithm<S>;
  readonly checks: Watch<S>;
  readonly seats: readonly Seat<S>[];
  /** Leaders keep their place. */
  readonly calm: boolean;
  /** How far the data of a member reach. */
  reachOf(id: string): bigint;
  happened(trigger: Trigger, subject: string): void;
  noted(what: string): void;
}

/** A start of it. */
export interface Run<S extends Safety> {
  readonly name: string;
  /** Its number, in words. */
  readonly number: string;
  readonly term: TermOf<S>;
  /** Its code may run. */
  readonly awake: boolean;
  readonly process: SimProcess;
  readonly driver: Driver<S>;
  isValid(): boolean;
}

export class Seat<S extends Safety> {
  readonly id: string;
  readonly #world: Surroundings<S>;
  readonly #rate: number;
  #starts = 0;
  #run: Run<S> | undefined;
  #clocks: Clocks;
  #disk: unknown;
  /** A write that is under way. */
  #writing: { readonly vote: unknown; readonly done: (written: Written) => void } | undefined;

  constructor(id: string, world: Surroundings<S>, rate: number) {
    this.id = id;
    this.#world = world;
    this.#rate = rate;
    this.#clocks = new Clocks(world.shape.unitMs);
  }

  get up(): boolean {
    return this.#run !== undefined;
  }

  get run(): Run<S> | undefined {
    return this.#run;
  }

  /** What is on its disk. */
  get kept(): unknown {
    return this.#disk;
  }

  /** Who leads, as far as it has heard. */
  get view(): string {
    const view = this.#run === undefined ? undefined : this.#world.algorithm.view(this.#run.driver.state);
    return view?.state === 'leader' ? `${view.memberId} in ${numberOf(view)}` : 'nobody';
  }

  get believes(): boolean {
    return this.#run !== undefined && this.#run.awake && this.#run.isValid();
  }

  start(): void {
    if (this.up) return;
    const { seed, shape, scheduler, algorithm } = this.#world;
    this.#starts += 1;
    const clocks = new Clocks(shape.unitMs);
    const process = new SimProcess(this.id, this.#starts, scheduler, { rate: this.#rate, random: streamOf(seed, this.id, this.#starts) });
    const now = { monotonicMs: process.monotonic(), wallMs: process.wall() };
    const durable = this.#disk === undefined ? undefined : algorithm.readDurable(this.#disk);
    const first = algorithm.start({ memberId: this.id, now, seed: streamOf(seed, 'chance', this.id, this.#starts).u32(), durable });
    const reach = this.#world.reachOf(this.id);
    const random = streamOf(seed, 'unrest', this.id, this.#starts);
    const fences = streamOf(seed, 'fences', this.id, this.#starts);
    const driver: Driver<S> = new Driver<S>(algorithm, first, {
      clock: process,
      position: () => ({ lastTerm: reach, lastIndex: 7n }),
      send: (to, message) => this.#send(to, message as Said),
      persist: (vote, done) => this.#write(process, vote, done),
      elected: () => {
        // The answer came while the machine slept: its first look at the clocks ends it, and nobody is told.
        if (!run.isValid()) return this.#world.checks.count('stillborn');
        this.#world.noted(`${process.name} elected in ${run.number}`);
        this.#world.checks.count('elected');
        this.#world.checks.elected(
          this.id,
          run,
          this.#world.seats.flatMap((seat) => seat.run ?? []),
          scheduler.nowMs,
        );
        this.#world.happened('elected', this.id);
        if (!this.#world.calm && random.chance(shape.unrest))
          process.schedule(random.below(3 * shape.unitMs), () => this.#giveUp(run, random.chance(0.5)));
        if (!this.#world.calm && fences.chance(0.02))
          process.schedule(fences.below(3 * shape.unitMs), () => this.#reportTerm(run, BigInt(fences.below(10))));
      },
      ended: (reason) => {
        this.#ended(reason, process.name);
        if (reason !== 'handover' && reason !== 'resigned') this.#afterEnd(run, undefined, random.below(shape.drainMs + 1));
      },
      viewed: () => {
        clocks.stepped(process.monotonic(), algorithm.belief(driver.state) !== undefined);
        this.#world.checks.stepped(this.id, driver.state, scheduler.nowMs);
      },
      membership: () => {},
      failed: () => this.#world.checks.count('failed'),
    });
    const run: Run<S> = {
      name: process.name,
      process,
      driver,
      get number() {
        const view = algorithm.view(driver.state);
        return view.state === 'leader' ? numberOf(view) : 'none';
      },
      get term() {
        return driver.highestTerm;
      },
      get awake() {
        return process.state === 'running' || process.state === 'blocked';
      },
      isValid: () => driver.isValid(),
    };
    this.#run = run;
    this.#clocks = clocks;
    this.#world.noted(`${process.name} started`);
    if (this.id !== shape.bystander) driver.command({ type: 'campaign' });
  }

  receive(from: string, message: Said): void {
    const run = this.#run;
    run?.process.run(() => {
      const read = this.#world.algorithm.readMessage(message);
      if (read === undefined) this.#world.checks.fail('every message can be read', this.#world.scheduler.nowMs, JSON.stringify(message));
      else run.driver.receive(from, read);
    });
  }

  /** It is gone. A write under way has come through, or not. */
  crash(writeLost: boolean): void {
    const run = this.#run;
    if (run === undefined) return;
    this.#world.noted(`${run.name} crashed`);
    if (this.#writing !== undefined) {
      this.#world.checks.count(writeLost ? 'write lost' : 'write unacknowledged');
      if (!writeLost) this.#disk = this.#writing.vote;
      this.#writing = undefined;
    }
    run.process.kill();
    run.driver.stop();
    this.#run = undefined;
  }

  /** The write that is under way fails, or the next one would have: it dies of that. */
  failWrite(writeLost: boolean): void {
    const { scheduler } = this.#world;
    const [writing, run] = [this.#writing, this.#run];
    if (writing === undefined || run === undefined) return this.crash(writeLost);
    this.#writing = undefined;
    if (!writeLost) this.#disk = writing.vote;
    this.#world.checks.count('write failed');
    writing.done({ ok: false, error: new Error('no space left on device') });
    if (run.isValid()) this.#world.checks.fail('a failed write ends belief', scheduler.nowMs, run.name);
    return this.crash(writeLost);
  }

  /** Stands still; returns what ends that. Undefined: it must not sleep now, or is down. */
  stand(state: 'paused' | 'blocked' | 'suspended'): (() => void) | undefined {
    const run = this.#run;
    if (run === undefined || (state === 'suspended' && !this.#clocks.sleep(run.process.monotonic()))) return undefined;
    this.#world.noted(`${run.name} ${state}`);
    const resume = run.process.stop(state);
    return () => {
      resume();
      if (this.#run !== run) return;
      this.#world.noted(`${run.name} runs again`);
      this.#world.checks.believers(
        this.#world.seats.flatMap((seat) => seat.run ?? []),
        this.#world.scheduler.nowMs,
      );
    };
  }

  /** Its wall clock goes back. False: it must not now, or is down. */
  setBack(byMs: number): boolean {
    const run = this.#run;
    if (run === undefined || !this.#clocks.setBack(run.process.monotonic())) return false;
    run.process.jumpWall(-byMs);
    this.#world.noted(`${run.name} is set back by ${Math.round(byMs)} ms`);
    return true;
  }

  #send(to: string, message: Said): void {
    const { network, checks, seats, scheduler, shape } = this.#world;
    checks.sent(this.id, to, message, scheduler.nowMs);
    const echoes = this.#world.calm ? 0 : shape.echoes;
    const isLast = message.type === 'handover' || message.type === 'resigned';
    const echo = { chance: isLast && echoes > 0 ? 0.5 : echoes, withinMs: 4 * shape.unitMs };
    network.send(this.id, to, () => seats.find(({ id }) => id === to)?.receive(this.id, message), echo);
    this.#world.happened(message.type, this.id);
  }

  #write(process: SimProcess, vote: unknown, done: (written: Written) => void): void {
    const { scheduler, shape, seed } = this.#world;
    const writing = { vote, done };
    this.#writing = writing;
    this.#world.checks.count('written');
    this.#world.happened('write', this.id);
    const inMs = streamOf(seed, 'write', this.id, scheduler.order).below(shape.writeMs + 1);
    scheduler.after(inMs, () => {
      if (this.#writing !== writing) return;
      this.#writing = undefined;
      this.#disk = vote;
      process.run(() => done({ ok: true }));
    });
  }

  #ended(reason: PeerEndReason, name: string): void {
    this.#world.noted(`${name} ended: ${reason}`);
    this.#world.checks.count(`ended ${reason}`);
  }

  /** A fence has seen a newer term than this leader's, or one that is none. */
  #reportTerm(run: Run<S>, by: bigint): void {
    if (this.#run !== run || this.#world.calm || !run.isValid() || by === 0n || run.term === undefined) return;
    const seen = run.term + by;
    run.driver.end('termBehind');
    run.driver.command({ type: 'seen', term: seen });
  }

  /** Resigns, or hands over where there is an heir; after its work has stopped. */
  #giveUp(run: Run<S>, handOver: boolean): void {
    if (this.#run !== run || this.#world.calm || !run.isValid()) return;
    const heir = handOver ? run.driver.heir(undefined) : undefined;
    run.driver.end(heir === undefined ? 'resigned' : 'handover');
    if (run.isValid()) this.#world.checks.fail('belief ends before anybody is told', this.#world.scheduler.nowMs, run.name);
    this.#afterEnd(run, heir, this.#world.shape.drainMs);
  }

  #afterEnd({ process, driver }: Run<S>, heir: string | undefined, drainMs: number): void {
    process.schedule(drainMs, () => {
      driver.command({ type: 'release', to: heir });
      process.schedule(1, () => driver.command({ type: 'campaign' }));
    });
  }
}

function numberOf({ term, round }: { readonly term: bigint | undefined; readonly round: number | undefined }): string {
  return term === undefined ? `round ${round}` : `term ${term}`;
}
