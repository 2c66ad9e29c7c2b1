/**
 * A world of the quorum algorithm. After the storm, the members must elect a leader, keep it, and
 * replace it after a crash.
 */

import { quorum } from '../../src/index.ts';
import type { Vote } from '../../src/quorum/message.ts';
import type { Plan } from '../simulation/faults.ts';
import type { SimulatedMember } from '../simulation/simulated-member.ts';
import type { Note } from '../simulation/simulation.ts';
import { World } from '../simulation/world.ts';
import { QuorumChecks } from './checks.ts';
import type { Shape } from './plan.ts';

/**
 * In calm, a member must lead within this time, in longest election timeouts. It allows for the
 * wait after the start, the time for which followers vote for nobody, and a few split votes.
 */
const BOUND = 15;

/** The times in its outcome are in longest election timeouts. */
export class QuorumWorld extends World<'quorum', Shape, QuorumChecks> {
  constructor(plan: Plan<Shape>, note?: Note) {
    const { members, electionTimeoutMinMs, electionTimeoutMaxMs, heartbeatEveryMs, drainMs, clockErrorRatio, tieBreak } = plan.shape;
    const algorithm = quorum({ members, electionTimeoutMinMs, electionTimeoutMaxMs, heartbeatEveryMs, drainMs, clockErrorRatio, tieBreak });
    super(plan, algorithm, new QuorumChecks(plan.shape), note);
  }

  override reachOf(id: string): bigint {
    return BigInt(this.shape.reach[this.shape.members.indexOf(id)] ?? 0);
  }

  protected play(): void {
    const { electionTimeoutMaxMs: maxMs, outcast, outcastHow } = this.shape;
    this.rage();
    const readmit = outcast === undefined ? undefined : this.network.isolate(outcast, outcastHow);
    const termsBefore = this.members.map(termOf);
    this.recoveredAfter = this.#untilLed('elected once a majority is connected', outcast);
    // Let older promises and messages expire. A leader that is valid only by answers from before
    // the calm may lose its leadership now.
    this.settle();
    this.#untilLed('elected once a majority is connected', outcast);
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
    const leader = this.leader();
    if (leader === undefined || this.members.length < 3) return;
    leader.crash(true);
    this.failedOverAfter = this.#untilLed('a crashed leader is followed', leader.id);
  }

  /**
   * Waits until a member other than `but` leads, or `but` itself still does. Returns the time in
   * longest election timeouts.
   */
  #untilLed(promise: string, but: string | undefined): number {
    const { electionTimeoutMaxMs: maxMs } = this.shape;
    const missing = (): string | undefined => {
      const leader = this.leader();
      return leader === undefined || leader.id === but ? 'nobody isValid' : undefined;
    };
    return this.until(promise, BOUND * maxMs, maxMs / 20, missing) / maxMs;
  }

  /**
   * The current leader must stay leader, unless a member that was cut off during its campaign has a
   * newer term.
   */
  #quiet(promise: string, forMs: number, but: string | undefined): void {
    const leader = this.leader();
    if (leader === undefined) return this.checks.fail(promise, this.scheduler.nowMs, 'nobody leads');
    const term = termOf(leader);
    if (this.members.some((member) => member.id !== but && termOf(member) > term)) {
      this.checks.count('a newer term came back');
      return this.pass(5 * forMs);
    }
    this.pass(forMs);
    if (leader.isValid && termOf(leader) === term) return undefined;
    return this.checks.fail(promise, this.scheduler.nowMs, `${leader.id} led term ${term}, and now ${this.leader()?.id ?? 'nobody'} leads`);
  }

  /**
   * In calm, all members must see the same leader and term. By now, a member with a newer term has
   * spread it.
   */
  #agree(): void {
    const views = this.members.map((member) => member.view);
    if (new Set(views).size > 1) this.checks.fail('all see who leads', this.scheduler.nowMs, views.join(', '));
  }

  /**
   * The member may have been about to raise the term once when it was cut off. After that, it must
   * not raise it again.
   */
  #keptQuiet(outcast: string | undefined, termsBefore: readonly bigint[]): void {
    const member = this.members.find((one) => one.id === outcast);
    const [term, id] = member === undefined ? [0n, ''] : [termOf(member), member.id];
    const others = this.members.flatMap((one, i) => (one.id === outcast ? [] : [termOf(one), termsBefore[i] ?? 0n]));
    const known = [...others, termsBefore[this.shape.members.indexOf(id)] ?? 0n].reduce((a, b) => (a > b ? a : b));
    if (term > known + 1n)
      this.checks.fail('whoever hears nobody raises no term', this.scheduler.nowMs, `${id} has term ${term}, after ${known}`);
  }
}

/** The newest term that it knows, or that is on its disk while it is down. */
function termOf(member: SimulatedMember<'quorum'>): bigint {
  return member.run?.term ?? (member.kept as Vote | undefined)?.term ?? 0n;
}
