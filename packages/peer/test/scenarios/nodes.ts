/**
 * Runs members step by step, by the commands of etcd-io/raft's transcripts: campaign, deliver,
 * stabilize, tick, transfer. It records facts in a notation of our own. "1 leads 2": node 1 leads
 * term 2. "2 follows 2": node 2 follows in term 2. "3 asks 1": node 3 asks whether it would win, in
 * term 1. "3 stands 2": node 3 is a candidate in term 2. "2 casts 3 2" and "2 refuses 3 2": node 2
 * answers the vote request of node 3 in term 2. "2 would 3" and "2 would not 3": the same for a
 * pre-vote. "1 keeps 2 3": node 1 persists term 2 and its vote for node 3.
 */

import {
  quorum,
  type Input,
  type Position,
  type QuorumAlgorithm,
  type QuorumMessage,
  type QuorumOptions,
  type QuorumState,
  type Vote,
} from '../../src/index.ts';

export const ELECTION_MS = 1_000;

interface Node {
  readonly id: string;
  state: QuorumState;
  nowMs: number;
  position: Position;
  kept: Vote | undefined;
}

interface Envelope {
  readonly from: string;
  readonly to: string;
  readonly message: QuorumMessage;
}

type Act =
  | { readonly type: 'tick' }
  | Pick<Extract<Input<QuorumMessage>, { type: 'message' }>, 'type' | 'from' | 'message'>
  | Pick<Extract<Input<QuorumMessage>, { type: 'command' }>, 'type' | 'command'>;

export class Nodes {
  readonly algorithm: QuorumAlgorithm;
  readonly #nodes = new Map<string, Node>();
  readonly #dead = new Set<string>();
  readonly #cuts = new Set<string>();
  /** The messages in transit, oldest first. */
  waiting: Envelope[] = [];
  #facts: string[] = [];

  /** Creates the nodes 1 to n. They have run for long, so no promise binds them. */
  constructor(count: number, durable: Readonly<Record<string, Partial<Vote>>> = {}, options: Partial<QuorumOptions> = {}) {
    const members = Array.from({ length: count }, (_, i) => String(i + 1));
    this.algorithm = quorum({ members, electionTimeoutMinMs: ELECTION_MS, ...options });
    for (const id of members) {
      const kept = durable[id] === undefined ? undefined : { memberId: id, term: 0n, votedFor: undefined, ...durable[id] };
      const state = this.algorithm.start({ memberId: id, now: { monotonicMs: 0, wallMs: 0 }, seed: Number(id), durable: kept });
      this.#nodes.set(id, { id, state, nowMs: 100 * ELECTION_MS, position: { lastTerm: 0n, lastIndex: 0n }, kept });
      this.#step(id, { type: 'command', command: { type: 'campaign' } });
    }
    // No timer fires by itself.
    for (const node of this.#all) this.#rest(node);
  }

  get #all(): readonly Node[] {
    return [...this.#nodes.values()];
  }

  get leaders(): readonly string[] {
    return this.#all
      .filter(({ id, state }) => state.role.kind === 'leading' && !this.#dead.has(id))
      .map(({ id, state }) => `${id} ${state.term}`);
  }

  of(id: string): Node {
    return this.#nodes.get(id)!;
  }

  /** leader, follower, candidate or pre-candidate, and its term. */
  is(id: string): string {
    const { role, term } = this.of(id).state;
    const names = { leading: 'leader', following: 'follower', voting: 'candidate', polling: 'pre-candidate' } as const;
    return `${names[role.kind]} ${term}`;
  }

  /**
   * The facts since the last call, each once. Their order does not depend on the order of delivery.
   */
  facts(): readonly string[] {
    const facts = [...new Set(this.#facts)].toSorted();
    this.#facts = [];
    return facts;
  }

  /** How far its log reaches. */
  log(id: string, lastTerm: bigint, lastIndex: bigint): this {
    this.of(id).position = { lastTerm, lastIndex };
    return this;
  }

  /** Its election timeout expires. */
  campaign(id: string): this {
    const node = this.of(id);
    if (!node.state.standing) this.#step(id, { type: 'command', command: { type: 'campaign' } });
    node.state = { ...node.state, electionAtMs: node.nowMs };
    this.#step(id, { type: 'tick' });
    this.#rest(node);
    return this;
  }

  /** Time passes for this node only. It sends its heartbeats, but its timer does not fire. */
  tick(id: string, ms: number = ELECTION_MS): this {
    const node = this.of(id);
    for (let passed = 0; passed < ms; passed += 100) {
      node.nowMs += Math.min(100, ms - passed);
      this.#step(id, { type: 'tick' });
      this.#rest(node);
    }
    return this;
  }

  /**
   * An election timeout passes for all nodes, or for the named ones. Their promises to a leader
   * expire.
   */
  lapse(...ids: readonly string[]): this {
    for (const { id } of this.#all) if (ids.length === 0 || ids.includes(id)) this.of(id).nowMs += ELECTION_MS;
    return this;
  }

  /** Delivers the messages that wait for it, but none that follow from them. */
  deliver(id: string): this {
    const due = this.waiting.filter(({ to }) => to === id);
    this.waiting = this.waiting.filter(({ to }) => to !== id);
    for (const { from, message } of due) this.hears(id, from, message);
    return this;
  }

  /** Delivers messages until none is in transit. */
  stabilize(): this {
    for (let left = 10_000; this.waiting.length > 0; left -= 1) {
      if (left === 0) throw new Error('they talk on and on');
      const { from, to, message } = this.waiting.shift()!;
      this.hears(to, from, message);
    }
    return this;
  }

  drop(): this {
    this.waiting = [];
    return this;
  }

  hears(id: string, from: string, message: QuorumMessage): this {
    if (this.#dead.has(id) || this.#cuts.has(`${from} ${id}`)) return this;
    this.#step(id, { type: 'message', from, message });
    this.#rest(this.of(id));
    return this;
  }

  kill(...ids: readonly string[]): this {
    for (const id of ids) this.#dead.add(id);
    return this;
  }

  /** Cuts the link between the two. */
  cut(a: string, b: string): this {
    this.#cuts.add(`${a} ${b}`).add(`${b} ${a}`);
    return this;
  }

  heal(): this {
    this.#cuts.clear();
    return this;
  }

  /** Hands over. False: that node cannot be the successor, and nothing has happened. */
  transfer(from: string, to: string | undefined): boolean {
    const successor = this.algorithm.successor(this.of(from).state, to);
    if (successor === undefined) return false;
    this.#step(from, { type: 'command', command: { type: 'end', reason: 'handover' } });
    this.#step(from, { type: 'command', command: { type: 'release', to: successor } });
    this.#rest(this.of(from));
    return true;
  }

  isValid(id: string): boolean {
    const validity = this.algorithm.validity(this.of(id).state);
    return validity !== undefined && this.of(id).nowMs - validity.from.monotonicMs < validity.forMs;
  }

  #rest(node: Node): void {
    if (node.state.role.kind !== 'leading') node.state = { ...node.state, electionAtMs: Infinity };
  }

  #step(id: string, act: Act): void {
    const node = this.of(id);
    const before = node.state;
    const now = { monotonicMs: node.nowMs, wallMs: node.nowMs };
    const { state, outputs } = this.algorithm.step(before, { ...act, now, position: node.position });
    node.state = state;
    for (const output of outputs) {
      if (output.type === 'persist') {
        node.kept = output.durable;
        this.#facts.push(`${id} keeps ${output.durable.term} ${output.durable.votedFor ?? '-'}`);
      }
      if (output.type === 'send' && !this.#dead.has(id)) this.#send(id, output.to, output.message);
    }
    if (state.role.kind !== before.role.kind || state.term !== before.term) this.#changed(id, before, state);
  }

  #changed(id: string, before: QuorumState, { role, term }: QuorumState): void {
    const words = { leading: 'leads', following: 'follows', voting: 'stands', polling: 'asks' } as const;
    // If a node wins at once, both facts are recorded.
    if (role.kind === 'leading' && before.role.kind !== 'voting') this.#facts.push(`${id} stands ${term}`);
    this.#facts.push(`${id} ${words[role.kind]} ${term}`);
  }

  #send(from: string, to: string, message: QuorumMessage): void {
    if (message.type === 'voteAnswer') this.#facts.push(`${from} ${message.granted ? 'casts' : 'refuses'} ${to} ${message.term}`);
    if (message.type === 'preVoteAnswer') this.#facts.push(`${from} would ${message.granted ? '' : 'not '}${to}`);
    this.waiting.push({ from, to, message });
  }
}
