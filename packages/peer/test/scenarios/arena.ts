/**
 * Several members on a manual clock that campaign all the time. The arena keeps checking which of
 * them lead.
 */

import { expect } from 'vitest';
import type { PeerLeadership, PeerMember } from '../../src/index.ts';
import { Group } from '../support.ts';

const STEP_MS = 20;

export class Arena extends Group {
  /** All leaderships, in the order in which they started. */
  readonly led: PeerLeadership<'quorum'>[] = [];
  readonly #valid = new Map<string, bigint>();

  /** Starts all members. They campaign all the time. */
  begin(): this {
    for (const id of this.ids) this.lead(this.member(id));
    return this;
  }

  lead(member: PeerMember<'quorum'>): void {
    const work = async (leadership: PeerLeadership<'quorum'>): Promise<void> => {
      this.led.push(leadership);
      await leadership.ended;
    };
    member.lead(work).catch(() => {});
  }

  get validLeaders(): readonly PeerLeadership<'quorum'>[] {
    return this.led.filter((leadership) => leadership.isValid());
  }

  /**
   * Advances the clock, and checks all the time that no two members lead at once and that no term
   * has two leaders.
   */
  async pass(ms: number): Promise<this> {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      await this.clock.advance(Math.min(STEP_MS, ms - passed));
      this.look();
    }
    return this;
  }

  look(): void {
    const { validLeaders } = this;
    expect(validLeaders.map(({ memberId, term }) => `${memberId} ${term}`).length).toBeLessThan(2);
    for (const { memberId, term } of validLeaders) {
      const key = String(term);
      expect([undefined, BigInt(memberId.charCodeAt(0))]).toContain(this.#valid.get(key));
      this.#valid.set(key, BigInt(memberId.charCodeAt(0)));
    }
    const terms = this.led.map(({ term }) => term);
    expect(terms).toEqual(terms.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(new Set(terms).size).toBe(terms.length);
  }

  /** Waits for a leader, and returns it. */
  async leader(withinMs = 20_000): Promise<PeerLeadership<'quorum'>> {
    for (let passed = 0; passed < withinMs && this.validLeaders.length === 0; passed += STEP_MS) await this.pass(STEP_MS);
    const [leader] = this.validLeaders;
    if (leader === undefined) throw new Error(`nobody leads after ${withinMs} ms`);
    return leader;
  }

  /** Cuts the two sides off from each other. */
  split(one: readonly string[], other: readonly string[]): void {
    for (const a of one) for (const b of other) this.between(a, b);
  }

  between(a: string, b: string): void {
    this.network.cut(a, b);
    this.network.cut(b, a);
  }

  /** Members by id. */
  of(id: string): PeerMember<'quorum'> {
    return this.members.findLast(({ memberId }) => memberId === id)!;
  }

  sees(id: string): string | undefined {
    const { current } = this.of(id);
    return current.state === 'leader' ? current.memberId : undefined;
  }
}

export const FIVE: readonly string[] = ['a', 'b', 'c', 'd', 'e'];
