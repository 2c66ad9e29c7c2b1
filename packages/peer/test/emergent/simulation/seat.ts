/** One seat of a world: a member's process, that comes and goes, and forgets all. */

import { SimProcess, streamOf, type Scheduler } from '@incumbent/simulator/time';
import { Driver } from '../../../src/driver.ts';
import type { EmergentAlgorithm, EmergentMessage, EmergentState, PeerMembership } from '../../../src/index.ts';
import type { Network } from '../../simulation/network.ts';
import type { Shape } from './plan.ts';
import type { Checks } from './checks.ts';

/** What a seat needs of its world. */
export interface Surroundings {
  readonly seed: number;
  readonly shape: Shape;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly algorithm: EmergentAlgorithm;
  readonly checks: Checks;
  readonly seats: readonly Seat[];
  /** Leaders keep their place. */
  readonly calm: boolean;
  noted(what: string): void;
}

interface Run {
  readonly name: string;
  readonly process: SimProcess;
  readonly driver: Driver<'bestEffort'>;
  membership: PeerMembership | undefined;
}

export class Seat {
  readonly id: string;
  readonly #world: Surroundings;
  readonly #rate: number;
  #starts = 0;
  #run: Run | undefined;

  constructor(id: string, world: Surroundings, rate: number) {
    this.id = id;
    this.#world = world;
    this.#rate = rate;
  }

  get up(): boolean {
    return this.#run !== undefined;
  }

  get state(): EmergentState | undefined {
    return this.#run?.driver.state as EmergentState | undefined;
  }

  get membership(): PeerMembership | undefined {
    return this.#run?.membership;
  }

  get coordinates(): boolean {
    return this.state?.phase.kind === 'present' && this.state.phase.role.kind === 'coordinating';
  }

  get awake(): boolean {
    return this.#run?.process.state === 'running' || this.#run?.process.state === 'blocked';
  }

  get believes(): boolean {
    return this.awake && this.#run?.driver.isValid() === true;
  }

  get view(): string {
    const { state } = this;
    const view = state === undefined ? undefined : this.#world.algorithm.view(state);
    return view?.state === 'leader' ? `${view.memberId} in round ${view.round}` : 'nobody';
  }

  start(): void {
    if (this.up) return;
    const { seed, shape, scheduler, algorithm, checks } = this.#world;
    this.#starts += 1;
    const process = new SimProcess(this.id, this.#starts, scheduler, { rate: this.#rate, random: streamOf(seed, this.id, this.#starts) });
    const now = { monotonicMs: process.monotonic(), wallMs: process.wall() };
    const first = algorithm.start({
      memberId: this.id,
      now,
      seed: streamOf(seed, 'chance', this.id, this.#starts).u32(),
      durable: undefined,
    });
    const random = streamOf(seed, 'unrest', this.id, this.#starts);
    const driver: Driver<'bestEffort'> = new Driver<'bestEffort'>(algorithm, first, {
      clock: process,
      position: () => ({ lastTerm: 0n, lastIndex: 0n }),
      send: (to, message, at) => this.#send(to, message as EmergentMessage, at),
      persist: () => checks.fail('nothing is persisted', scheduler.nowMs, this.id),
      elected: (belief) => {
        this.#world.noted(`${process.name} elected in round ${belief.round}`);
        checks.elected(this.id, process.name, belief.round, this.state, this.#world.seats, scheduler.nowMs);
        if (!this.#world.calm && random.chance(shape.unrest))
          process.schedule(random.below(8 * shape.failureTimeoutMs), () => this.#giveUp(run, random.chance(0.5)));
      },
      ended: (reason) => {
        this.#world.noted(`${process.name} ended: ${reason}`);
        checks.count(`ended ${reason}`);
        if (reason !== 'handover' && reason !== 'resigned') this.#afterEnd(run, undefined, random.below((shape.options.drainMs ?? 0) + 1));
      },
      viewed: () => {},
      membership: (membership) => {
        checks.changed(process.name, run.membership, membership, scheduler.nowMs);
        run.membership = membership;
        this.#world.noted(`${process.name} has ${membership === undefined ? 'left' : tell(membership)}`);
      },
      failed: (why) => {
        this.#world.noted(`${process.name} failed: ${why}`);
        checks.count(`failed ${why}`);
        // Whoever runs it starts it again.
        scheduler.after(shape.failureTimeoutMs, () => {
          if (this.#run !== run) return;
          this.crash();
          this.start();
        });
      },
    });
    const run: Run = { name: process.name, process, driver, membership: undefined };
    this.#run = run;
    this.#world.noted(`${process.name} started`);
    process.schedule(1, () => driver.command({ type: 'seeds', self: `at ${this.id}`, seeds: shape.seeds.map(contactOf) }));
    if (!shape.bystanders.includes(this.id)) process.schedule(random.below(4), () => driver.command({ type: 'campaign' }));
  }

  receive(from: string, message: EmergentMessage): void {
    const run = this.#run;
    run?.process.run(() => {
      const read = this.#world.algorithm.readMessage(message);
      if (read === undefined) this.#world.checks.fail('messages are read', this.#world.scheduler.nowMs, JSON.stringify(message));
      else run.driver.receive(from, read);
    });
  }

  /** It is gone, without a word. */
  crash(): void {
    const run = this.#run;
    if (run === undefined) return;
    this.#world.noted(`${run.name} crashed`);
    run.process.kill();
    run.driver.stop();
    this.#run = undefined;
  }

  /** It ends as a member does that is closed. */
  leave(): void {
    const run = this.#run;
    if (run === undefined || !run.process.runs) return this.crash();
    this.#world.noted(`${run.name} leaves`);
    if (run.driver.isValid()) {
      run.driver.end('memberClosed');
      run.driver.command({ type: 'release', to: undefined });
    }
    run.driver.command({ type: 'leave' });
    return this.crash();
  }

  /** Stands still; returns what ends that. */
  stand(state: 'paused' | 'blocked' | 'suspended'): () => void {
    const run = this.#run;
    if (run === undefined) return () => {};
    this.#world.noted(`${run.name} ${state}`);
    const resume = run.process.stop(state);
    return () => {
      resume();
      if (this.#run === run) this.#world.noted(`${run.name} runs again`);
    };
  }

  jumpWall(byMs: number): void {
    this.#run?.process.jumpWall(byMs);
  }

  #send(to: string, message: EmergentMessage, at: string | undefined): void {
    const { network, checks, seats, shape, calm } = this.#world;
    checks.count(`sent ${message.type}`);
    if (at !== `at ${to}`) checks.count('sent without an address');
    const echo = { chance: calm ? 0 : shape.echoes, withinMs: 6 * shape.failureTimeoutMs };
    network.send(this.id, to, () => seats.find(({ id }) => id === to)?.receive(this.id, message), echo);
  }

  /** Resigns, or hands over where there is an heir; after its work has stopped. */
  #giveUp(run: Run, handOver: boolean): void {
    if (this.#run !== run || this.#world.calm || !run.driver.isValid()) return;
    const heir = handOver ? run.driver.heir(undefined) : undefined;
    run.driver.end(heir === undefined ? 'resigned' : 'handover');
    if (run.driver.isValid()) this.#world.checks.fail('belief ends before anybody is told', this.#world.scheduler.nowMs, run.name);
    this.#afterEnd(run, heir, this.#world.shape.options.drainMs ?? 0);
  }

  #afterEnd({ process, driver }: Run, heir: string | undefined, drainMs: number): void {
    process.schedule(drainMs, () => {
      driver.command({ type: 'release', to: heir });
      process.schedule(1, () => driver.command({ type: 'campaign' }));
    });
  }
}

function contactOf(memberId: string): { readonly memberId: string; readonly address: string } {
  return { memberId, address: `at ${memberId}` };
}

function tell({ version, coordinator, members }: PeerMembership): string {
  return `version ${version} of ${coordinator}: ${members.map(({ memberId, standing }) => (standing ? memberId : `(${memberId})`)).join(' ')}`;
}
