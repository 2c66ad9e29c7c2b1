/** What must hold in every world, found out from outside. */

import type { EmergentState, PeerMembership } from '../../../src/index.ts';
import type { Shape } from './plan.ts';

export interface Violation {
  readonly promise: string;
  readonly atMs: number;
  readonly what: string;
}

interface Believer {
  readonly id: string;
  readonly believes: boolean;
}

export class Checks {
  readonly violations: Violation[] = [];
  readonly counts: Map<string, number> = new Map();
  readonly #shape: Shape;
  readonly #rounds = new Map<string, number>();

  constructor(shape: Shape) {
    this.#shape = shape;
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  fail(promise: string, atMs: number, what: string): void {
    if (this.violations.length < 20) this.violations.push({ promise, atMs, what });
  }

  /** A process has begun to believe. */
  elected(id: string, name: string, round: number, state: EmergentState | undefined, all: readonly Believer[], atMs: number): void {
    this.count('elected');
    if (this.#shape.bystanders.includes(id)) this.fail('only who stands is elected', atMs, name);
    if (round <= (this.#rounds.get(name) ?? 0))
      this.fail('rounds rise', atMs, `${name} leads round ${round}, after ${this.#rounds.get(name)}`);
    this.#rounds.set(name, round);
    const members = state?.phase.kind === 'present' ? state.phase.list.members : [];
    if (members[0]?.memberId !== id) this.fail('the first of its own list leads', atMs, name);
    if (members.length < (this.#shape.options.minimumSize ?? 1)) this.fail('nobody leads too few', atMs, `${name} leads ${members.length}`);
    if (all.filter((one) => one.believes).length > 1) this.count('two believe');
  }

  /** A process has another list. */
  changed(name: string, before: PeerMembership | undefined, after: PeerMembership | undefined, atMs: number): void {
    if (before === undefined || after === undefined) return this.count(after === undefined ? 'left' : 'joined');
    this.count('changed');
    if (after.version <= before.version) this.fail('versions rise', atMs, `${name} has ${after.version}, after ${before.version}`);
    return undefined;
  }
}
