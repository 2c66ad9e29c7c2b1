/** Drives what follows the drain: a handover's swap, or the release of what a term left in the store. */

import { Backoff } from './backoff.ts';
import { isPassing, outcomeOf } from './errors.ts';
import type { ElectionKeys } from './keys.ts';
import { readCandidate, readLeader, readTerm, type TermRecord } from './record.ts';
import type { Session, SessionContext } from './session.ts';
import type { CallOptions, Change, Entry, Revision } from './store.ts';
import { handoverInOne, handoverInTwo, releaseChanges, type Remains } from './swaps.ts';
import type { Won } from './candidate.ts';
import { advance, type Heir, type Tenure, type TenureEvent } from './tenure.ts';
import { sleep } from './waits.ts';

export interface ReleaseContext extends SessionContext {
  readonly keys: ElectionKeys;
  readonly won: Won;
  readonly session: Session;
  /** Aborts when the session ends. */
  readonly over: AbortSignal;
}

export class Release {
  readonly #context: ReleaseContext;
  readonly #backoff: Backoff;
  /** The last revision of the leader's record that its holder wrote. */
  #leaderRevision: Revision;

  constructor(context: ReleaseContext, leaderRevision: Revision) {
    this.#context = context;
    this.#leaderRevision = leaderRevision;
    this.#backoff = new Backoff(context.random, context.timing.retryEveryMs, context.timing.ttlMs / 4);
  }

  /** From the end of the drain until nothing of the term is left, or all that is left goes with the lease. */
  async run(from: Tenure): Promise<Extract<Tenure, { phase: 'released' }>> {
    let tenure = from;
    for (;;) {
      if (tenure.phase === 'released') return tenure;
      const event: TenureEvent = this.#context.session.ended === undefined ? await this.#perform(tenure) : { type: 'leaseOver' };
      if (event.type === 'failed') await sleep(this.#context.clock, this.#backoff.next(), this.#context.over);
      tenure = advance(tenure, event);
    }
  }

  async #perform(tenure: Tenure): Promise<TenureEvent> {
    try {
      return await this.#do(tenure);
    } catch (error) {
      this.#context.session.note(error);
      if (!isPassing(error)) return { type: 'fatal' };
      this.#context.telemetry.emit('retry', { doing: tenure.phase, error });
      return { type: 'failed', unknown: outcomeOf(error) === 'unknown' };
    }
  }

  async #do(tenure: Tenure): Promise<TenureEvent> {
    switch (tenure.phase) {
      case 'handingOver':
        return this.#handOver(tenure.heir);
      case 'checking':
        return this.#check(tenure.heir);
      case 'releasing': {
        const { remains, reason } = tenure;
        if (remains === undefined) return { type: 'remains', remains: await this.#read(), heirHasIt: false, stillMine: false };
        const changes = releaseChanges(this.#context.keys, this.#mark, remains, { reason });
        return changes.length === 0 ? { type: 'swapped' } : this.#swap(changes);
      }
      case 'leading':
      case 'draining':
      case 'released':
        throw new TypeError(`nothing is released when ${tenure.phase}`);
      default:
        return tenure satisfies never;
    }
  }

  get #mark(): string {
    return this.#context.won.entry.key;
  }

  #options(): CallOptions {
    return { timeoutMs: this.#context.timing.callTimeoutMs };
  }

  async #swap(changes: readonly Change[]): Promise<TenureEvent> {
    const result = await this.#context.store.compareAndSwap(changes, this.#options());
    return { type: result.swapped ? 'swapped' : 'notSwapped' };
  }

  async #handOver(heir: Heir): Promise<TenureEvent> {
    const { store, keys, won } = this.#context;
    const term = await this.#readMyTerm();
    if (term === undefined) return { type: 'notSwapped' };
    const { payload } = readCandidate(heir.entry);
    const self = { memberId: heir.memberId, incarnation: heir.incarnation };
    const handover = { keys, won, leaderRevision: this.#leaderRevision, term, heir: { entry: heir.entry, self, payload } };
    const { lease } = heir.entry;
    const inOne = store.capabilities.assignableLease && lease !== undefined;
    return this.#swap(inOne ? handoverInOne(handover, lease) : handoverInTwo(handover));
  }

  async #readMyTerm(): Promise<TermRecord | undefined> {
    const { store, keys, won } = this.#context;
    const entry = await store.read(keys.term, this.#options());
    return entry?.revision === won.termRevision ? readTerm(entry) : undefined;
  }

  async #check(heir: Heir): Promise<TenureEvent> {
    const remains = await this.#read();
    const term = remains.term === undefined ? undefined : readTerm(remains.term);
    const heirHasIt = term?.entry === heir.entry.key || term?.ended?.heir === heir.entry.key;
    return { type: 'remains', remains, heirHasIt, stillMine: term?.entry === this.#mark && term.ended === undefined };
  }

  /** The leader's record last: what it shows then is no older than what the term told. */
  async #read(): Promise<Remains> {
    const { store, keys } = this.#context;
    const [term, entry] = await Promise.all([store.read(keys.term, this.#options()), store.read(this.#mark, this.#options())]);
    const leader = await store.read(keys.leader, this.#options());
    if (leader !== undefined && this.#isMine(leader)) this.#leaderRevision = leader.revision;
    return { term, entry, leader };
  }

  #isMine(leader: Entry): boolean {
    return readLeader(leader).entry === this.#mark;
  }
}
