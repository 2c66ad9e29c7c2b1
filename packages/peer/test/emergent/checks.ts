/**
 * What must hold in every world of the emergent algorithm. Two leaders at once are allowed; the
 * checks only count how often that happens.
 */

import type { EmergentState, PeerMembership } from '../../src/index.ts';
import { Checks, type Said } from '../simulation/checks.ts';
import type { Run } from '../simulation/run.ts';
import type { Shape } from './plan.ts';

type Best = Run<'bestEffort'>;

export class EmergentChecks extends Checks<'bestEffort'> {
  readonly #shape: Shape;
  readonly #rounds = new Map<string, number>();
  /** Names of the processes that have been members. */
  readonly #members = new Set<string>();

  constructor(shape: Shape) {
    super();
    this.#shape = shape;
  }

  override sent(from: string, to: string, said: Said, atMs: number, at: string | undefined): void {
    super.sent(from, to, said, atMs, at);
    if (at !== addressOf(to)) this.count('sent without an address');
  }

  override elected(id: string, { name, view, driver }: Best, all: readonly Best[], atMs: number): void {
    const { bystanders, options } = this.#shape;
    if (bystanders.includes(id)) this.fail('only who stands is elected', atMs, name);
    const round = (view.state === 'leader' ? view.round : undefined) ?? 0;
    const before = this.#rounds.get(name) ?? 0;
    if (round <= before) this.fail('rounds rise', atMs, `${name} leads round ${round}, after ${before}`);
    this.#rounds.set(name, round);
    const { phase } = driver.state as EmergentState;
    const members = phase.kind === 'present' ? phase.list.members : [];
    if (members[0]?.memberId !== id) this.fail('the first of its own list leads', atMs, name);
    if (members.length < (options.minimumSize ?? 1)) this.fail('nobody leads too few', atMs, `${name} leads ${members.length}`);
    if (all.filter((one) => one.awake && one.isValid()).length > 1) this.count('two valid leaders');
  }

  /** A process has ended by itself. */
  failed(name: string, why: string, atMs: number): void {
    if (this.#members.has(name)) this.fail('a member does not give up', atMs, `${name}: ${why}`);
  }

  override changed(name: string, before: PeerMembership | undefined, after: PeerMembership | undefined, atMs: number): void {
    if (before === undefined && after?.members.length === 1 && this.#members.has(name)) this.count('founded again');
    this.#members.add(name);
    if (before === undefined || after === undefined) return this.count(after === undefined ? 'left' : 'joined');
    this.count('changed');
    if (after.version <= before.version) this.fail('versions rise', atMs, `${name} has ${after.version}, after ${before.version}`);
    return undefined;
  }
}

/** The address of a member. */
export function addressOf(memberId: string): string {
  return `at ${memberId}`;
}
