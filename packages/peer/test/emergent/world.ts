/**
 * A world of the emergent algorithm. After the storm, the sides must merge, stay stable, and
 * replace a crashed coordinator.
 */

import { streamOf } from '@incumbent/simulator/time';
import { emergent, type EmergentState } from '../../src/index.ts';
import type { Plan } from '../simulation/faults.ts';
import type { Run } from '../simulation/run.ts';
import type { SimulatedMember } from '../simulation/simulated-member.ts';
import type { Note } from '../simulation/simulation.ts';
import { World } from '../simulation/world.ts';
import { addressOf, EmergentChecks } from './checks.ts';
import type { Shape } from './plan.ts';

type Best = Run<'bestEffort'>;

/**
 * In calm, all members must agree within this time, in failure timeouts. It allows for some failed
 * attempts to join, a failure, a search, a merge, and a few of them at the same time.
 */
const BOUND = 20;

/** The times in its outcome are in failure timeouts. */
export class EmergentWorld extends World<'bestEffort', Shape, EmergentChecks> {
  constructor(plan: Plan<Shape>, note?: Note) {
    super(plan, emergent(plan.shape.options), new EmergentChecks(plan.shape), note);
  }

  /** The member may campaign before or after its transport reports seeds. */
  override begin(run: Best): void {
    const { driver, process } = run;
    const seeds = this.shape.seeds.map((memberId) => ({ memberId, address: addressOf(memberId) }));
    process.schedule(1, () => driver.command({ type: 'seeds', self: addressOf(process.id), seeds }));
    process.schedule(streamOf(this.seed, 'begin', run.name).below(4), () => super.begin(run));
  }

  /** A supervisor restarts a process that has failed. */
  override failed(run: Best, why: string): void {
    super.failed(run, why);
    this.checks.failed(run.name, why, this.scheduler.nowMs);
    this.noted(`${run.name} failed: ${why}`);
    this.scheduler.after(this.shape.failureTimeoutMs, () => {
      const member = this.members.find((one) => one.run === run);
      member?.crash(false);
      member?.start();
    });
  }

  protected play(): void {
    this.rage();
    this.recoveredAfter = this.#untilAgreed('in calm all agree');
    this.#quiet(10 * this.shape.failureTimeoutMs);
    this.#failOver();
  }

  /** A member that considers itself the coordinator: the first one found. */
  override leader(): SimulatedMember<'bestEffort'> | undefined {
    return this.members.find(({ run }) => run !== undefined && coordinates(run));
  }

  #failOver(): void {
    const first = this.leader();
    if (first === undefined || this.checks.violations.length > 0) return;
    first.crash(false);
    this.failedOverAfter = this.#untilAgreed('a crashed coordinator is followed');
  }

  /** Returns the time in failure timeouts. */
  #untilAgreed(promise: string): number {
    const { failureTimeoutMs } = this.shape;
    return this.until(promise, BOUND * failureTimeoutMs, failureTimeoutMs / 10, () => this.#disagreement()) / failureTimeoutMs;
  }

  /** What the members do not agree on yet. Undefined: they agree. */
  #disagreement(): string | undefined {
    const { runs } = this;
    const lists = new Set(runs.map(({ membership }) => JSON.stringify(membership)));
    const [membership] = runs.map((one) => one.membership);
    if (lists.size !== 1 || membership === undefined || membership.members.length !== runs.length) return [...lists].join(' and ');
    const keepers = runs.filter(coordinates).map(({ process }) => process.id);
    if (keepers.length !== 1 || keepers[0] !== membership.coordinator) return `coordinators: ${keepers.join(', ')}`;
    const leaders = this.members.filter((member) => member.isValid).map(({ id }) => id);
    const isLed = membership.isEnough && membership.members.some(({ memberId }) => !this.shape.bystanders.includes(memberId));
    const expected = isLed ? [membership.coordinator] : [];
    if (JSON.stringify(leaders) !== JSON.stringify(expected)) return `led by ${leaders.join(', ')}, not by ${expected.join(', ')}`;
    const views = new Set(this.members.filter(({ up }) => up).map(({ view }) => view));
    return views.size === 1 ? undefined : `views: ${[...views].join(', ')}`;
  }

  /** Without faults, nothing may change. */
  #quiet(forMs: number): void {
    if (this.checks.violations.length > 0) return;
    // First let pending campaigns start and old messages arrive.
    this.settle();
    this.pass(this.shape.failureTimeoutMs);
    const version = this.runs[0]?.membership?.version;
    this.pass(forMs);
    const problem = this.#disagreement() ?? (this.runs[0]?.membership?.version === version ? undefined : 'the version has changed');
    if (problem !== undefined) this.checks.fail('nothing changes where nothing happens', this.scheduler.nowMs, problem);
  }
}

function coordinates({ driver }: Best): boolean {
  const { phase } = driver.state as EmergentState;
  return phase.kind === 'present' && phase.role.kind === 'coordinating';
}
