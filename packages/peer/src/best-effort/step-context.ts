/**
 * The state and the outputs of one step while the algorithm computes it. It lives only during that
 * step, so `step` stays pure.
 */

import type { Moment } from '@incumbent/core';
import type { Output, PeerEndReason, Reading, Step } from '../algorithm.ts';
import { randomOf, nextSeed } from '../random.ts';
import { levelOf, failuresToReport } from './failures.ts';
import type { BestEffortMessage, Failure, OwnMessage, MessageOf } from './message.ts';
import type { Rules } from './options.ts';
import { bestOf, type Precedence } from './rank.ts';
import type { BestEffortState, Heard } from './state.ts';

/** The part in which the algorithms differ. */
export interface Procedure {
  readonly rules: Rules;
  /** The algorithm's own messages, besides the common ones. */
  readonly messageTypes: readonly OwnMessage['type'][];
  /** Whether a member with precedence takes over from a leader that it hears. */
  readonly preempts: boolean;
  /**
   * The time in which half of a leader's failures are forgiven, in ms. Undefined: failures do not
   * count.
   */
  readonly forgiveMs: number | undefined;
  /** How many successors a leader names. */
  readonly successors: number;
  /** Whether this member may be elected, if it campaigns. */
  isEligible(id: string): boolean;
  /** How long a new member listens for a leader before its first election, in ms. */
  readonly listensMs: number;
  /** How long a member without a leader waits before it starts an election, in ms. */
  delayMs(step: StepContext): number;
  /** Starts an election. This member knows of no leader, or takes over from the leader. */
  begin(step: StepContext): void;
  /** The election's time is over. */
  onTimeout(step: StepContext): void;
  /** A leader announces itself. */
  onHeartbeat(step: StepContext, from: string, message: MessageOf<'heartbeat'>): void;
  onMessage(step: StepContext, from: string, message: OwnMessage | MessageOf<'alive'>): void;
  /** A leader hands its leadership over to this member, which campaigns. */
  onHandover(step: StepContext, from: string, message: MessageOf<'handover'>): void;
  /** The work of an ended leadership has stopped. Informs the members concerned. */
  release(step: StepContext, led: Led, to: string | undefined): void;
  /** Does everything else that is due, at the end of each step. */
  attend(step: StepContext): void;
  /** When `attend` is due next, on the monotonic clock. */
  attendAtMs(state: BestEffortState): number | undefined;
}

export type Led = Exclude<BestEffortState['led'], undefined>;

export class StepContext {
  readonly how: Procedure;
  readonly now: Moment;
  readonly #outputs: Output<BestEffortMessage, never>[] = [];
  state: BestEffortState;

  constructor(how: Procedure, state: BestEffortState, { now }: Reading) {
    this.how = how;
    this.now = now;
    this.state = state;
  }

  get rules(): Rules {
    return this.how.rules;
  }

  get nowMs(): number {
    return this.now.monotonicMs;
  }

  get id(): string {
    return this.state.memberId;
  }

  get others(): readonly string[] {
    return this.rules.members.filter((id) => id !== this.id);
  }

  /** Whether this member can be elected now. */
  get mayLead(): boolean {
    return this.state.standing && !this.state.standsBack && this.how.isEligible(this.id);
  }

  /** The best of the leaders that this member hears, itself excluded. */
  get leader(): Heard | undefined {
    return bestOf(this.rules, this.state.leaders);
  }

  /** This member's own precedence. */
  get own(): Precedence {
    return this.precedenceOf(this.id);
  }

  /** A member's precedence, as far as this member knows. */
  precedenceOf(id: string): Precedence {
    return { id, weight: -levelOf(this.how.forgiveMs, this.state.failures, id, this.nowMs) };
  }

  get failuresToReport(): readonly Failure[] {
    return failuresToReport(this.how.forgiveMs, this.state.failures, this.nowMs);
  }

  set(changes: Partial<BestEffortState>): void {
    this.state = { ...this.state, ...changes };
  }

  send(to: string, message: BestEffortMessage): void {
    this.#outputs.push({ type: 'send', to, message });
  }

  /** Sends to every other member. */
  broadcast(message: BestEffortMessage): void {
    this.multicast(this.others, message);
  }

  multicast(ids: readonly string[], message: BestEffortMessage): void {
    for (const id of ids) this.send(id, message);
  }

  elected(): void {
    this.#outputs.push({ type: 'event', event: { type: 'elected' } });
  }

  ended(reason: PeerEndReason): void {
    this.#outputs.push({ type: 'event', event: { type: 'ended', reason } });
  }

  /** 0 to 1, 1 excluded. */
  random(): number {
    this.set({ seed: nextSeed(this.state.seed) });
    return randomOf(this.state.seed);
  }

  done(): Step<BestEffortState, BestEffortMessage, never> {
    return { state: { ...this.state, wakeAtMs: wakeAt(this.how, this.state) }, outputs: this.#outputs };
  }
}

function wakeAt(how: Procedure, state: BestEffortState): number | undefined {
  const { leading, election, electAtMs, leaders } = state;
  const { failureTimeoutMs, validMs } = how.rules;
  const times = [
    leading?.heartbeatAtMs,
    leading && leading.announcedAt.monotonicMs + validMs,
    election?.untilMs,
    electAtMs,
    how.attendAtMs(state),
    ...leaders.map(({ atMs }) => atMs + failureTimeoutMs),
  ].filter((atMs) => atMs !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}
