/**
 * One member of a world, over all its restarts: its current process, its disk, and its link to the
 * network.
 */

import { streamOf } from '@incumbent/simulator/time';
import type { Written } from '../../src/driver.ts';
import type { Safety } from '../../src/index.ts';
import type { Said } from './checks.ts';
import type { Network } from './network.ts';
import { numberOf, Run, type RunWorld } from './run.ts';

/** How late a repeated message may arrive, in units of `unitMs`. */
export const ECHO_UNITS = 4;

/** What a member needs from its world. */
export interface MemberWorld<S extends Safety> extends RunWorld<S> {
  readonly network: Network;
  /** What a process does first. */
  begin(run: Run<S>): void;
  campaign(run: Run<S>): void;
  deliver(to: string, from: string, message: Said): void;
}

export class SimulatedMember<S extends Safety> {
  readonly id: string;
  readonly #world: MemberWorld<S>;
  readonly #rate: number;
  #starts = 0;
  #run: Run<S> | undefined;
  #disk: unknown;
  /** A write in progress. */
  #writing: { readonly durable: unknown; readonly done: (written: Written) => void } | undefined;

  constructor(id: string, world: MemberWorld<S>, rate: number) {
    this.id = id;
    this.#world = world;
    this.#rate = rate;
  }

  get up(): boolean {
    return this.#run !== undefined;
  }

  get run(): Run<S> | undefined {
    return this.#run;
  }

  /** The data on its disk. */
  get kept(): unknown {
    return this.#disk;
  }

  /** The leader that it sees. */
  get view(): string {
    const view = this.#run?.view;
    return view?.state === 'leader' ? `${view.memberId} in ${numberOf(view)}` : 'nobody';
  }

  get isValid(): boolean {
    return this.#run !== undefined && this.#run.awake && this.#run.isValid();
  }

  start(): void {
    if (this.up) return;
    this.#starts += 1;
    const run: Run<S> = new Run<S>({
      id: this.id,
      starts: this.#starts,
      rate: this.#rate,
      kept: this.#disk,
      world: this.#world,
      send: (to, message, at) => this.#send(to, message as Said, at),
      persist: (durable, done) => this.#write(run, durable, done),
    });
    this.#run = run;
    this.#world.noted(`${run.name} started`);
    this.#world.begin(run);
  }

  receive(from: string, message: Said): void {
    const run = this.#run;
    const { algorithm, checks, scheduler } = this.#world;
    run?.process.run(() => {
      const read = algorithm.readMessage(message);
      if (read === undefined) checks.fail('every message can be read', scheduler.nowMs, JSON.stringify(message));
      else run.driver.receive(from, read);
    });
  }

  /** Crashes it. A write in progress has reached the disk or not. */
  crash(writeLost: boolean): void {
    const run = this.#run;
    if (run === undefined) return;
    this.#world.noted(`${run.name} crashed`);
    if (this.#writing !== undefined) {
      this.#world.checks.count(writeLost ? 'write lost' : 'write unacknowledged');
      if (!writeLost) this.#disk = this.#writing.durable;
      this.#writing = undefined;
    }
    run.kill();
    this.#run = undefined;
  }

  /** Closes it in the normal way. A paused process is killed instead. */
  leave(): void {
    const run = this.#run;
    if (run === undefined || !run.process.runs) return this.crash(false);
    this.#world.noted(`${run.name} leaves`);
    if (run.isValid()) {
      run.driver.end('memberClosed');
      run.driver.command({ type: 'release', to: undefined });
    }
    run.driver.command({ type: 'leave' });
    this.#world.checks.stopped(run.name, this.#world.scheduler.nowMs);
    return this.crash(false);
  }

  /**
   * Aborts its campaign. Returns the function that starts another one. Undefined: the member leads,
   * so it does not campaign.
   */
  withdraw(): (() => void) | undefined {
    const run = this.#run;
    if (run === undefined || !run.process.runs || run.isValid()) return undefined;
    this.#world.noted(`${run.name} stops campaigning`);
    run.driver.command({ type: 'withdraw' });
    return () => run.process.run(() => this.#world.campaign(run));
  }

  /** Makes the write in progress fail, or else the next one. This ends the process. */
  failWrite(writeLost: boolean): void {
    const { checks, scheduler } = this.#world;
    const [writing, run] = [this.#writing, this.#run];
    if (writing === undefined || run === undefined) return this.crash(writeLost);
    this.#writing = undefined;
    if (!writeLost) this.#disk = writing.durable;
    checks.count('write failed');
    writing.done({ ok: false, error: new Error('no space left on device') });
    if (run.isValid()) checks.fail('a failed write ends validity', scheduler.nowMs, run.name);
    checks.stopped(run.name, scheduler.nowMs);
    return this.crash(writeLost);
  }

  /**
   * Pauses the process, and returns the function that resumes it. Undefined: it must not sleep now,
   * or is down.
   */
  stand(state: 'paused' | 'blocked' | 'suspended'): (() => void) | undefined {
    const run = this.#run;
    if (run === undefined || (state === 'suspended' && !run.clocks.sleep(run.process.monotonic()))) return undefined;
    this.#world.noted(`${run.name} ${state}`);
    const resume = run.process.stop(state);
    return () => {
      resume();
      if (this.#run !== run) return;
      this.#world.noted(`${run.name} runs again`);
      this.#world.checks.validLeaders(this.#world.runs, this.#world.scheduler.nowMs);
    };
  }

  /** Sets its wall clock back. False: it must not now, or is down. */
  setBack(byMs: number): boolean {
    const run = this.#run;
    if (run === undefined || !run.clocks.setBack(run.process.monotonic())) return false;
    run.process.jumpWall(-byMs);
    this.#world.noted(`${run.name} is set back by ${Math.round(byMs)} ms`);
    return true;
  }

  #send(to: string, message: Said, at: string | undefined): void {
    const { network, checks, scheduler, shape, calm } = this.#world;
    checks.sent(this.id, to, message, scheduler.nowMs, at);
    const echoes = calm ? 0 : shape.echoes;
    const isLast = message.type === 'handover' || message.type === 'resigned';
    const echo = { chance: isLast && echoes > 0 ? 0.5 : echoes, withinMs: ECHO_UNITS * shape.unitMs };
    network.send(this.id, to, () => this.#world.deliver(to, this.id, message), echo);
    this.#world.happened(message.type, this.id);
  }

  #write({ process }: Run<S>, durable: unknown, done: (written: Written) => void): void {
    const { algorithm, checks, scheduler, shape, seed } = this.#world;
    if (!algorithm.persists) checks.fail('only who says so persists', scheduler.nowMs, this.id);
    const writing = { durable, done };
    this.#writing = writing;
    checks.count('written');
    this.#world.happened('write', this.id);
    const inMs = streamOf(seed, 'write', this.id, scheduler.order).below(shape.writeMs + 1);
    scheduler.after(inMs, () => {
      if (this.#writing !== writing) return;
      this.#writing = undefined;
      this.#disk = durable;
      process.run(() => done({ ok: true }));
    });
  }
}
