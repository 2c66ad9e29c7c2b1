/**
 * The state and the outputs of one step while the algorithm computes it. It lives only during that
 * step, so `step` stays pure.
 */

import type { Moment } from '@incumbent/core';
import type { Contact, Output, PeerEvent, Reading, Step } from '../algorithm.ts';
import { bitsOf, nextSeed } from '../random.ts';
import { type Entry, keyOf } from './list.ts';
import type { EmergentMessage } from './message.ts';
import type { Rules } from './options.ts';
import type { EmergentState, Present, Role } from './state.ts';

export class StepContext {
  readonly rules: Rules;
  readonly now: Moment;
  readonly #outputs: Output<EmergentMessage, never>[] = [];
  state: EmergentState;

  constructor(rules: Rules, state: EmergentState, { now }: Reading) {
    this.rules = rules;
    this.now = now;
    this.state = state;
  }

  get nowMs(): number {
    return this.now.monotonicMs;
  }

  /** This member's part in the cluster. Undefined: it is not a member. */
  get present(): Present | undefined {
    return this.state.phase.kind === 'present' ? this.state.phase : undefined;
  }

  /** This member's own key, with its current incarnation. */
  get key(): string {
    return keyOf(this.state);
  }

  set(changes: Partial<EmergentState>): void {
    this.state = { ...this.state, ...changes };
  }

  setPresent(changes: Partial<Omit<Present, 'kind'>>): void {
    if (this.present !== undefined) this.set({ phase: { ...this.present, ...changes } });
  }

  setRole(role: Role): void {
    this.setPresent({ role });
  }

  send(to: Contact, message: EmergentMessage): void {
    this.#outputs.push({ type: 'send', to: to.memberId, at: to.address, message });
  }

  /** Sends a message to every other member. */
  broadcast(message: EmergentMessage): void {
    for (const entry of this.others()) this.send(entry, message);
  }

  others(): readonly Entry[] {
    return this.present?.list.members.filter(({ memberId }) => memberId !== this.state.memberId) ?? [];
  }

  event(event: PeerEvent): void {
    this.#outputs.push({ type: 'event', event });
  }

  /** Records that a list of this version exists. */
  seen(version: number): void {
    if (version > this.state.seenVersion) this.set({ seenVersion: version });
  }

  /** 32 random bits. */
  u32(): number {
    this.set({ seed: nextSeed(this.state.seed) });
    return bitsOf(this.state.seed);
  }

  /** 0 to 1, 1 excluded. */
  random(): number {
    return this.u32() / 2 ** 32;
  }

  done(): Step<EmergentState, EmergentMessage, never> {
    return { state: { ...this.state, stepAtMs: this.nowMs, wakeAtMs: wakeAt(this.state) }, outputs: this.#outputs };
  }
}

function wakeAt({ phase, beatAtMs }: EmergentState): number | undefined {
  if (phase.kind === 'waiting') return undefined;
  if (phase.kind === 'joining') return phase.untilMs;
  const { role } = phase;
  if (role.kind === 'claiming') return Math.min(beatAtMs, role.untilMs);
  return role.kind === 'coordinating' && role.pending !== undefined ? Math.min(beatAtMs, role.pending.untilMs) : beatAtMs;
}
