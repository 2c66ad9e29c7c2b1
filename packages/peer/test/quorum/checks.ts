/** What must hold in every world of the quorum algorithm. */

import type { AlgorithmState } from '../../src/index.ts';
import type { QuorumMessage } from '../../src/quorum/message.ts';
import type { QuorumState } from '../../src/quorum/state.ts';
import { Checks, type Said } from '../simulation/checks.ts';
import type { Run } from '../simulation/run.ts';
import type { Shape } from './plan.ts';

export class QuorumChecks extends Checks<'quorum'> {
  readonly #members: readonly string[];
  readonly #reach: readonly number[];
  readonly #bystanders: readonly string[];
  readonly #votes = new Map<string, string>();
  readonly #terms = new Map<string, bigint>();
  readonly #leaders = new Map<bigint, string>();
  #newest = 0n;

  constructor({ members, reach, bystanders }: Shape) {
    super();
    this.#members = members;
    this.#reach = reach;
    this.#bystanders = bystanders;
  }

  /** A message has left a member: its vote and its term were durable before. */
  override sent(from: string, to: string, said: Said, atMs: number, at: string | undefined): void {
    super.sent(from, to, said, atMs, at);
    const message = said as QuorumMessage;
    const { type, term } = message;
    if (type === 'vote' && message.byHandover) this.count('sent vote by handover');
    if (type === 'resigned') this.#resigned(from, term, atMs);
    else if (term < (this.#terms.get(from) ?? 0n))
      this.fail('terms rise', atMs, `${from} says ${type} in term ${term}, after ${this.#terms.get(from)}`);
    else this.#terms.set(from, term);
    if (type === 'vote') this.#voted(from, from, term, atMs);
    if (type === 'voteAnswer' && message.granted) this.#voted(from, to, term, atMs);
    if ((type === 'voteAnswer' || type === 'preVoteAnswer') && !message.granted) this.count(`refused ${type}`);
  }

  /** A member has made a step. */
  override stepped(id: string, state: AlgorithmState, atMs: number): void {
    const { role, term } = state as QuorumState;
    if (role.kind !== 'leading') return;
    this.#voted(id, id, term, atMs);
    if (this.#bystanders.includes(id)) this.fail('only who stands is elected', atMs, `${id} leads term ${term}`);
    const before = this.#leaders.get(term);
    if (before === undefined) {
      this.#leaders.set(term, id);
      const votes = this.#members.filter((voter) => this.#votes.get(`${voter} ${term}`) === id).length;
      if (votes * 2 <= this.#members.length)
        this.fail('a leader has the votes of a majority', atMs, `${id} leads term ${term} by ${votes}`);
    } else if (before !== id) this.fail('one leader per term', atMs, `${before} and ${id} lead term ${term}`);
  }

  /** A member has become leader. */
  override elected(id: string, self: Run<'quorum'>, all: readonly Run<'quorum'>[], atMs: number): void {
    if (self.term <= this.#newest) this.fail('terms rise', atMs, `${self.name} is elected in term ${self.term}, after ${this.#newest}`);
    else this.#newest = self.term;
    const own = this.#reachOf(id);
    const behind = this.#members.filter((other) => this.#reachOf(other) <= own).length;
    if (behind * 2 <= this.#members.length) this.fail('the leader has the data', atMs, `${id} reaches ${own}`);
    this.validLeaders(all, atMs);
  }

  /**
   * Call it when a member becomes leader or resumes. A leadership that has ended must not be valid
   * again.
   */
  override validLeaders(all: readonly Run<'quorum'>[], atMs: number): void {
    const names = all.filter((one) => one.awake && one.isValid()).map(({ name, term }) => `${name} in term ${term}`);
    if (names.length > 1) this.fail('one isValid', atMs, names.join(' and '));
  }

  /** A member may announce the end of its leadership when it knows a newer term. */
  #resigned(from: string, term: bigint, atMs: number): void {
    if (term < (this.#terms.get(from) ?? 0n)) this.count('resigned from an older term');
    if (this.#leaders.get(term) !== from) this.fail('only a former leader resigns', atMs, `${from} resigns from term ${term}`);
  }

  #voted(voter: string, candidate: string, term: bigint, atMs: number): void {
    const ballot = `${voter} ${term}`;
    const before = this.#votes.get(ballot);
    if (before === undefined) this.#votes.set(ballot, candidate);
    else if (before !== candidate)
      this.fail('no vote is forgotten', atMs, `${voter} votes for ${candidate} in term ${term}, after ${before}`);
  }

  #reachOf(id: string): number {
    return this.#reach[this.#members.indexOf(id)] ?? 0;
  }
}
