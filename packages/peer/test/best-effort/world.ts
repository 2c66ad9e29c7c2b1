/**
 * A world of a best-effort algorithm. After the storm, one member must lead and all must see it.
 * Then the leader crashes, restarts and resigns.
 */

import type { BestEffortState } from '../../src/best-effort/state.ts';
import { levelOf } from '../../src/best-effort/failures.ts';
import type { Plan } from '../simulation/faults.ts';
import type { SimulatedMember } from '../simulation/simulated-member.ts';
import type { Note } from '../simulation/simulation.ts';
import { World } from '../simulation/world.ts';
import { algorithmOf } from './algorithms.ts';
import { BestEffortChecks } from './checks.ts';
import type { Shape } from './plan.ts';

type Member = SimulatedMember<'bestEffort'>;

/** The times in its outcome are in failure timeouts. */
export class BestEffortWorld extends World<'bestEffort', Shape, BestEffortChecks> {
  constructor(plan: Plan<Shape>, note?: Note) {
    super(plan, algorithmOf(plan.shape.name, plan.shape.options), new BestEffortChecks(plan.shape), note);
  }

  protected play(): void {
    const { unitMs } = this.shape;
    this.rage();
    this.recoveredAfter = this.#untilOne('one leads in calm');
    // Everything that was in progress when the calm began is over.
    this.settle();
    this.#untilOne('one leads in calm');
    this.#stays('an undisturbed leader stays', () => this.pass(3 * unitMs));
    const dead = this.leader();
    if (dead === undefined || this.#electable(dead).length === 0) return;
    // When this leader crashes, members that let it lead first campaign again. Failures that count
    // against other members may be forgiven meanwhile, or may have been forgiven just now.
    const isUnclear = this.members.some((member) => this.#standsBack(member) || this.#level(dead, member.id, 2 * unitMs) > 0);
    const next = isUnclear ? undefined : dead.run?.driver.successor(undefined);
    dead.crash(false);
    this.failedOverAfter = this.#untilOne('a crashed leader is followed');
    this.#bestFollows(next);
    // By then, members that have just been found have joined the leader's group.
    this.pass(unitMs);
    // Of two members, the remaining one leads a group of one. The group of the returning member is
    // as good, so either may win.
    const isAlone = this.shape.name === 'invitation' && this.members.length === 2;
    this.#stays(isAlone ? undefined : 'who comes back disturbs nobody', () => {
      dead.start();
      this.pass(4 * unitMs);
    });
    this.#endLeadership();
  }

  /** The live members that could lead, except this one. */
  #electable(but: Member): readonly Member[] {
    const { name, options, bystanders } = this.shape;
    const isEligible = (id: string): boolean =>
      !bystanders.includes(id) && (name !== 'candidateOrdinary' || options.candidates.includes(id));
    return this.members.filter((member) => member !== but && member.up && isEligible(member.id));
  }

  /** Waits until exactly one member leads and all see it. Returns the time in failure timeouts. */
  #untilOne(promise: string): number {
    const { boundMs, unitMs } = this.shape;
    const missing = (): string | undefined => {
      if (this.#agreed() !== undefined) return undefined;
      return this.members.map((member) => `${member.id}${member.isValid ? ' leads,' : ''} sees ${member.view}`).join('; ');
    };
    return this.until(promise, boundMs, unitMs / 20, missing) / unitMs;
  }

  /** The leader, if all live members see it and no other member leads. */
  #agreed(): string | undefined {
    const up = this.members.filter((member) => member.up);
    const views = new Set(up.map(({ view }) => view));
    const validLeaders = up.filter((member) => member.isValid);
    const [view = ''] = views;
    return views.size === 1 && validLeaders.length === 1 && view.startsWith(`${validLeaders[0]?.id} in `) ? view : undefined;
  }

  /**
   * The current leader must keep leading in the same round. With the bully, the best member must
   * lead whose failures are forgiven.
   */
  #stays(promise: string | undefined, during: () => void): void {
    const before = this.#agreed();
    during();
    if (promise === undefined) return;
    if (this.shape.name !== 'bully') {
      const after = this.#agreed();
      if (before !== undefined && after !== before)
        this.checks.fail(promise, this.scheduler.nowMs, `${before}, and now ${after ?? 'nobody'}`);
      return;
    }
    this.#untilOne(promise);
    this.#bestLeads();
  }

  /**
   * After a quiet time, all members know who is alive, so they elect the best. The invitation
   * algorithm has no such order.
   */
  #bestFollows(next: string | undefined): void {
    const now = this.leader()?.id;
    if (this.shape.name === 'bully' || this.shape.name === 'invitation' || next === undefined || now === next) return;
    this.checks.fail('the best follows', this.scheduler.nowMs, `${now}, not ${next}`);
  }

  /**
   * No member may rank above the leader by its own knowledge, except members that let others lead
   * first.
   */
  #bestLeads(): void {
    const leader = this.leader();
    if (leader === undefined) return;
    const better = this.#electable(leader).find((member) => this.#isBetter(member, leader.id));
    if (better === undefined) return;
    // Its failures have just been forgiven, so it will take over, unless those of the leader are
    // forgiven meanwhile too.
    this.pass(2 * this.shape.unitMs);
    if (this.leader() === leader && this.#isBetter(better, leader.id))
      this.checks.fail('the best leads', this.scheduler.nowMs, `${leader.id}, not ${better.id}`);
  }

  #isBetter(member: Member, leader: string): boolean {
    const { leaders } = stateOf(member);
    const own = -this.#level(member, member.id);
    const weight = Math.min(-this.#level(member, leader), ...leaders.map((heard) => heard.weight));
    return !this.#standsBack(member) && (own > weight || (own === weight && member.id < leader));
  }

  #standsBack(member: Member): boolean {
    return stateOf(member).standsBack;
  }

  /**
   * By how many levels a member's failures lower its rank, as another member knows: now, or some
   * time ago.
   */
  #level(member: Member, of: string, agoMs = 0): number {
    const nowMs = (member.run?.process.monotonic() ?? 0) - agoMs;
    return levelOf(this.shape.options.forgiveMs, stateOf(member).failures, of, nowMs);
  }

  /**
   * The leader resigns, and a member must lead again. Or it hands over, and the successor must
   * lead.
   */
  #endLeadership(): void {
    const leader = this.leader();
    if (leader?.run === undefined) return;
    const sinceMs = this.scheduler.nowMs;
    const successor = this.shape.farewell === 'handsOver' ? leader.run.driver.successor(undefined) : undefined;
    this.checks.count(successor === undefined ? 'farewell by resigning' : 'farewell by handing over');
    leader.run.driver.end(successor === undefined ? 'resigned' : 'handover');
    leader.run.driver.command({ type: 'release', to: successor });
    leader.run.driver.command({ type: 'campaign' });
    // The leadership ends at once. The other members see that a little later.
    this.pass(Math.max(this.shape.unitMs / 2, 10 * this.shape.latencyMs[1]));
    this.#untilOne('who gives up is followed');
    if (successor === undefined) return;
    // With the bully, a member whose failures have just been forgiven may have taken over from the
    // successor.
    const hasLed = this.checks.electedSince(sinceMs).includes(successor);
    const now = this.leader()?.id;
    if (this.shape.name === 'bully' ? !hasLed : now !== successor)
      this.checks.fail('leadership is handed over to the successor', this.scheduler.nowMs, `${now}, not ${successor}`);
  }
}

/** The state of a live member. */
function stateOf({ id, run: one }: Member): BestEffortState {
  if (one === undefined) throw new RangeError(`${id} is down`);
  return one.driver.state as BestEffortState;
}
