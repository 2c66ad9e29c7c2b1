/**
 * One step in the making: the state so far, and what is to be said. It lives as long as the step,
 * so the step stays pure.
 */

import type { Moment } from '@incumbent/core';
import type { Output, PeerEndReason, Reading, Step } from '../algorithm.ts';
import { randomOf, nextSeed } from '../random.ts';
import { levelOf, toTell } from './failures.ts';
import type { BestEffortMessage, Failure, OwnMessage, Say } from './message.ts';
import type { Rules } from './options.ts';
import { bestOf, type Standing } from './rank.ts';
import type { BestEffortState, Heard } from './state.ts';

/** What each algorithm does in its own way. */
export interface Procedure {
  readonly rules: Rules;
  /** The messages that it has besides those that all have. */
  readonly speaks: readonly OwnMessage['type'][];
  /** Whether a better one takes over from a leader that it hears. */
  readonly preempts: boolean;
  /**
   * After how long half of a leader's failures are forgiven, in ms; undefined: nobody counts them.
   */
  readonly forgiveMs: number | undefined;
  /** How many successors a leader names. */
  readonly successors: number;
  /** Who may be elected, of those that stand. */
  isEligible(id: string): boolean;
  /** How long a member listens for a leader when it has just started, in ms. */
  readonly listensMs: number;
  /** How long it waits, once it knows of no leader, in ms. */
  delayMs(step: StepContext): number;
  /** Nobody leads, as far as it knows; or it goes before whoever does, where that counts. */
  begin(step: StepContext): void;
  /** The time of its election is up. */
  onTimeout(step: StepContext): void;
  /** A member says that it leads. */
  onHeartbeat(step: StepContext, from: string, message: Say<'heartbeat'>): void;
  onMessage(step: StepContext, from: string, message: OwnMessage | Say<'alive'>): void;
  /** A leader hands its leadership over to this member, which would lead. */
  onHandover(step: StepContext, from: string, message: Say<'handover'>): void;
  /** A leader that has given up tells whom it concerns. */
  release(step: StepContext, led: Led, to: string | undefined): void;
  /** Whatever else it has to do by now, at the end of each step. */
  attend(step: StepContext): void;
  /** When it has to, on the monotonic clock. */
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

  /** Whether it can be elected now. */
  get mayLead(): boolean {
    return this.state.standing && !this.state.standsBack && this.how.isEligible(this.id);
  }

  /** Whom it takes for the leader, itself left out. */
  get leader(): Heard | undefined {
    return bestOf(this.rules, this.state.leaders);
  }

  /** Where it stands itself. */
  get own(): Standing {
    return this.standingOf(this.id);
  }

  /** Where a member stands as far as this one knows. */
  standingOf(id: string): Standing {
    return { id, weight: -levelOf(this.how.forgiveMs, this.state.failures, id, this.nowMs) };
  }

  get failuresToTell(): readonly Failure[] {
    return toTell(this.how.forgiveMs, this.state.failures, this.nowMs);
  }

  set(changes: Partial<BestEffortState>): void {
    this.state = { ...this.state, ...changes };
  }

  send(to: string, message: BestEffortMessage): void {
    this.#outputs.push({ type: 'send', to, message });
  }

  tell(ids: readonly string[], message: BestEffortMessage): void {
    for (const id of ids) this.send(id, message);
  }

  elected(): void {
    this.#outputs.push({ type: 'event', event: { type: 'elected' } });
  }

  ended(reason: PeerEndReason): void {
    this.#outputs.push({ type: 'event', event: { type: 'ended', reason } });
  }

  /** From 0, inclusive, to 1, exclusive. */
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
