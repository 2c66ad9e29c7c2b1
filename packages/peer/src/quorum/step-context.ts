/**
 * Collects the changes and outputs of one step. It lives as long as the step, so the step stays
 * pure.
 */

import type { Moment } from '@incumbent/core';
import type { Output, PeerConflict, PeerEndReason, Position, Reading, Step } from '../algorithm.ts';
import { randomOf, nextSeed } from '../random.ts';
import type { QuorumMessage, Vote } from './message.ts';
import type { Rules } from './options.ts';
import type { QuorumState } from './state.ts';

export type QuorumOutput = Output<QuorumMessage, Vote>;

export class StepContext {
  readonly rules: Rules;
  readonly now: Moment;
  readonly position: Position;
  readonly #before: QuorumState;
  readonly #outputs: QuorumOutput[] = [];
  state: QuorumState;

  constructor(rules: Rules, state: QuorumState, { now, position }: Reading) {
    this.rules = rules;
    this.now = now;
    this.position = position;
    this.state = state;
    this.#before = state;
  }

  get nowMs(): number {
    return this.now.monotonicMs;
  }

  set(changes: Partial<QuorumState>): void {
    this.state = { ...this.state, ...changes };
  }

  send(to: string, message: QuorumMessage): void {
    this.#outputs.push({ type: 'send', to, message });
  }

  /** Sends to every other member. */
  broadcast(message: QuorumMessage): void {
    for (const to of this.rules.members) if (to !== this.state.memberId) this.send(to, message);
  }

  elected(): void {
    this.#outputs.push({ type: 'event', event: { type: 'elected' } });
  }

  ended(reason: PeerEndReason): void {
    this.#outputs.push({ type: 'event', event: { type: 'ended', reason } });
  }

  conflict(conflict: PeerConflict): void {
    this.#outputs.push({ type: 'event', event: { type: 'conflict', conflict } });
  }

  /** Draws a new election timeout, and starts it now. */
  restartElectionTimer(): void {
    const { electionTimeoutMinMs: min, electionTimeoutMaxMs: max } = this.rules;
    this.standAfter(min + this.random() * (max - min));
  }

  /** Sets the time of the next campaign, but not before the member may vote for itself. */
  standAfter(delayMs: number): void {
    this.set({ electionAtMs: Math.max(this.nowMs + delayMs, this.state.holdUntilMs) });
  }

  /** A random number, at least 0 and below 1. */
  random(): number {
    this.set({ seed: nextSeed(this.state.seed) });
    return randomOf(this.state.seed);
  }

  /**
   * Saves for how long this member promises a leader to vote for nobody, unless that is saved
   * already. Every promise of this process lasts for `electionTimeoutMinMs`. A longer promise of an
   * earlier process may still count until `holdUntilMs`. Until then the member saves that one: if
   * it starts once more, it waits as long again.
   */
  savePromise(): void {
    const { promiseMs, holdUntilMs } = this.state;
    const { electionTimeoutMinMs } = this.rules;
    this.set({ promiseMs: this.nowMs < holdUntilMs ? Math.max(promiseMs, electionTimeoutMinMs) : electionTimeoutMinMs });
  }

  /**
   * Returns the step. If the term, the vote or the promise has changed, all three are persisted
   * before anything is sent.
   */
  done(): Step<QuorumState, QuorumMessage, Vote> {
    const before = this.#before;
    // Saves the promise with each vote, so that the first heartbeat of a term needs no write.
    if (this.state.term !== before.term || this.state.votedFor !== before.votedFor) this.savePromise();
    const { memberId, term, votedFor, promiseMs } = this.state;
    const changed = term !== before.term || votedFor !== before.votedFor || promiseMs !== before.promiseMs;
    const durable: Vote = { memberId, term, votedFor, members: this.rules.members, promiseMs };
    const persist: readonly QuorumOutput[] = changed ? [{ type: 'persist', durable }] : [];
    return { state: { ...this.state, wakeAtMs: wakeAt(this.rules, this.state) }, outputs: [...persist, ...this.#outputs] };
  }
}

function wakeAt({ leaseMs, validMs }: Rules, { role, electionAtMs, standing }: QuorumState): number | undefined {
  if (role.kind === 'leading') {
    const endsAtMs = role.vouched === undefined ? role.sinceMs + leaseMs : role.vouched.sentAt.monotonicMs + validMs;
    return Math.min(role.heartbeatAtMs, endsAtMs);
  }
  // A member that does not campaign, and knows no leader, waits for nothing.
  return standing || role.kind !== 'following' || role.leader !== undefined ? electionAtMs : undefined;
}
