/** One seat of a world: a member's process, that comes and goes, and its disk, that stays. */

import { SimProcess, streamOf, type Scheduler } from '@incumbent/simulator/time';
import { Driver, type Written } from '../../src/driver.ts';
import type { PeerEndReason } from '../../src/index.ts';
import type { QuorumMessage, Vote } from '../../src/quorum/message.ts';
import type { QuorumAlgorithm } from '../../src/quorum/quorum.ts';
import type { QuorumState } from '../../src/quorum/state.ts';
import type { Believer, Checks } from './checks.ts';
import type { Network } from './network.ts';
import type { Shape, Trigger } from './plan.ts';

/** What a seat needs of its world. */
export interface Surroundings {
  readonly seed: number;
  readonly shape: Shape;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly algorithm: QuorumAlgorithm;
  readonly checks: Checks;
  readonly seats: readonly Seat[];
  /** Leaders keep their place. */
  readonly calm: boolean;
  happened(trigger: Trigger, subject: string): void;
  noted(what: string): void;
}

/** A start of it. */
interface Run extends Believer {
  readonly process: SimProcess;
  readonly driver: Driver<'quorum'>;
}

export class Seat {
  readonly id: string;
  readonly #world: Surroundings;
  readonly #rate: number;
  #starts = 0;
  #run: Run | undefined;
  #disk: Vote | undefined;
  /** A write that is under way. */
  #writing: { readonly vote: Vote; readonly done: (written: Written) => void } | undefined;

  constructor(id: string, world: Surroundings, rate: number) {
    this.id = id;
    this.#world = world;
    this.#rate = rate;
  }

  get up(): boolean {
    return this.#run !== undefined;
  }

  get run(): Run | undefined {
    return this.#run;
  }

  get term(): bigint {
    return this.#run?.term ?? this.#disk?.term ?? 0n;
  }

  /** Who leads, as far as it has heard. */
  get view(): string {
    const view = this.#run === undefined ? undefined : this.#world.algorithm.view(this.#run.driver.state as QuorumState);
    return view?.state === 'leader' ? `${view.memberId} in term ${view.term}` : 'nobody';
  }

  get believes(): boolean {
    return this.#run !== undefined && this.#run.awake && this.#run.isValid();
  }

  start(): void {
    if (this.up) return;
    const { seed, shape, scheduler, algorithm } = this.#world;
    this.#starts += 1;
    const process = new SimProcess(this.id, this.#starts, scheduler, { rate: this.#rate, random: streamOf(seed, this.id, this.#starts) });
    const now = { monotonicMs: process.monotonic(), wallMs: process.wall() };
    const durable = this.#disk === undefined ? undefined : algorithm.readDurable(this.#disk);
    const first = algorithm.start({ memberId: this.id, now, seed: streamOf(seed, 'chance', this.id, this.#starts).u32(), durable });
    const reach = BigInt(shape.reach[shape.members.indexOf(this.id)] ?? 0);
    const random = streamOf(seed, 'unrest', this.id, this.#starts);
    const fences = streamOf(seed, 'fences', this.id, this.#starts);
    const stateOf = (): QuorumState => driver.state as QuorumState;
    const driver: Driver<'quorum'> = new Driver<'quorum'>(algorithm, first, {
      clock: process,
      position: () => ({ lastTerm: reach, lastIndex: 7n }),
      send: (to, message) => this.#send(to, message as QuorumMessage),
      persist: (vote, done) => this.#write(process, vote as Vote, done),
      elected: () => {
        // The answer came while the machine slept: its first look at the clocks ends it, and nobody is told.
        if (!run.isValid()) return this.#world.checks.count('stillborn');
        this.#world.noted(`${process.name} elected in term ${stateOf().term}`);
        this.#world.checks.count('elected');
        this.#world.checks.elected(
          this.id,
          run,
          this.#world.seats.flatMap((seat) => seat.run ?? []),
          scheduler.nowMs,
        );
        this.#world.happened('elected', this.id);
        if (!this.#world.calm && random.chance(shape.unrest))
          process.schedule(random.below(3 * shape.electionTimeoutMaxMs), () => this.#giveUp(run, random.chance(0.5)));
        if (!this.#world.calm && fences.chance(0.02))
          process.schedule(fences.below(3 * shape.electionTimeoutMaxMs), () => this.#reportTerm(run, BigInt(fences.below(10))));
      },
      ended: (reason) => {
        this.#ended(reason, process.name);
        if (reason !== 'handover' && reason !== 'resigned') this.#afterEnd(run, undefined, random.below(shape.drainMs + 1));
      },
      viewed: () => this.#world.checks.stepped(this.id, stateOf(), scheduler.nowMs),
      membership: () => {},
      failed: () => this.#world.checks.count('failed'),
    });
    const run: Run = {
      name: process.name,
      process,
      driver,
      get term() {
        return stateOf().term;
      },
      get awake() {
        return process.state === 'running' || process.state === 'blocked';
      },
      isValid: () => driver.isValid(),
    };
    this.#run = run;
    this.#world.noted(`${process.name} started with term ${durable?.term ?? 'none'}`);
    if (this.id !== shape.bystander) driver.command({ type: 'campaign' });
  }

  receive(from: string, message: QuorumMessage): void {
    const run = this.#run;
    run?.process.run(() => run.driver.receive(from, this.#world.algorithm.readMessage(message)));
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

  /** Stands still; returns what ends that. */
  stand(state: 'paused' | 'blocked' | 'suspended'): () => void {
    const run = this.#run;
    if (run === undefined) return () => {};
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

  #send(to: string, message: QuorumMessage): void {
    const { network, checks, seats, scheduler, shape } = this.#world;
    checks.sent(this.id, to, message, scheduler.nowMs);
    const echoes = this.#world.calm ? 0 : shape.echoes;
    const isLast = message.type === 'handover' || message.type === 'resigned';
    const echo = { chance: isLast && echoes > 0 ? 0.5 : echoes, withinMs: 4 * shape.electionTimeoutMaxMs };
    network.send(this.id, to, () => seats.find(({ id }) => id === to)?.receive(this.id, message), echo);
    const trigger = message.type;
    if (trigger !== 'stale' && trigger !== 'preVote' && trigger !== 'preVoteAnswer') this.#world.happened(trigger, this.id);
  }

  #write(process: SimProcess, vote: Vote, done: (written: Written) => void): void {
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
  #reportTerm(run: Run, by: bigint): void {
    if (this.#run !== run || this.#world.calm || !run.isValid() || by === 0n) return;
    const seen = run.term + by;
    run.driver.end('termBehind');
    run.driver.command({ type: 'seen', term: seen });
  }

  /** Resigns, or hands over where there is an heir; after its work has stopped. */
  #giveUp(run: Run, handOver: boolean): void {
    if (this.#run !== run || this.#world.calm || !run.isValid()) return;
    const heir = handOver ? run.driver.heir(undefined) : undefined;
    run.driver.end(heir === undefined ? 'resigned' : 'handover');
    if (run.isValid()) this.#world.checks.fail('belief ends before anybody is told', this.#world.scheduler.nowMs, run.name);
    this.#afterEnd(run, heir, this.#world.shape.drainMs);
  }

  #afterEnd({ process, driver }: Run, heir: string | undefined, drainMs: number): void {
    process.schedule(drainMs, () => {
      driver.command({ type: 'release', to: heir });
      process.schedule(1, () => driver.command({ type: 'campaign' }));
    });
  }
}
