/** What the keys of an election say of who leads: read, where the leader's record alone does not tell. */

import type { ElectionKeys } from '../protocol/keys.ts';
import { readLeader, readTerm } from '../protocol/record.ts';
import { orAborted } from '../async/abort.ts';
import type { Entry, Key, Store } from '../store/contract.ts';

/**
 * Why nobody leads. `expired`: the last leader's lease ended, or somebody deleted its record, without a word from it. `neverLed`: no term was issued.
 * The others are as the last leader wrote them; a later version may add some.
 */
export type VacancyReason = 'expired' | 'neverLed' | 'resigned' | 'handover' | 'handoverFailed' | 'memberClosed' | (string & {});

export interface VacantView {
  readonly state: 'vacant';
  /** The last term issued; absent when there was none. */
  readonly term?: bigint;
  readonly reason: VacancyReason;
}

export interface SeenLeader {
  readonly state: 'leader';
  readonly term: bigint;
  /** The record: whoever wants its value reads one of its own. */
  readonly entry: Entry;
  /** Only where the term is lower than one seen before: the store itself has gone back, confirmed by a linearizable read. */
  readonly reason?: 'termReset';
}

export type Sight = SeenLeader | VacantView;

export class Eye {
  readonly #store: Store;
  readonly #keys: ElectionKeys;
  readonly #timeoutMs: number;
  #highest = 0n;
  /** Whether that term was seen to have ended. */
  #isOver = false;

  constructor(store: Store, keys: ElectionKeys, timeoutMs: number) {
    this.#store = store;
    this.#keys = keys;
    this.#timeoutMs = timeoutMs;
  }

  /** What a watch has told, or a read. Never an older term after one that was {@link keep}t, nor one led after its end, unless the store itself has gone back. */
  async see(entry: Entry | undefined, signal: AbortSignal): Promise<Sight> {
    if (entry === undefined) return this.#vacancy(signal);
    const sight = leaderIn(entry);
    if (sight.term > this.#highest || (sight.term === this.#highest && !this.#isOver)) return sight;
    // A watch may repeat a state of before, or the store has gone back.
    const confirmed = await this.leader(signal);
    return confirmed === undefined ? this.#vacancy(signal) : this.#resetIfLower(leaderIn(confirmed));
  }

  /** The leader's record, by a linearizable read. */
  leader(signal: AbortSignal): Promise<Entry | undefined> {
    return this.#read(this.#keys.leader, signal);
  }

  /** This is what is known from now on. */
  keep({ state, term }: Sight): void {
    if (term === undefined) return;
    this.#highest = term;
    this.#isOver = state === 'vacant';
  }

  #resetIfLower(sight: SeenLeader): SeenLeader {
    return sight.term < this.#highest ? { ...sight, reason: 'termReset' } : sight;
  }

  #read(key: Key, signal: AbortSignal): Promise<Entry | undefined> {
    return orAborted(this.#store.read(key, { timeoutMs: this.#timeoutMs, signal }), signal);
  }

  /**
   * The leader's key is gone; the term's record tells why, if its holder has said so, and if nobody has followed yet. An end is written as the key goes:
   * read after that, it is there, or there is none. What the watch has told may be a state of before, so only a read tells that the key is gone.
   */
  async #vacancy(signal: AbortSignal): Promise<Sight> {
    for (let gone: bigint | undefined; ;) {
      const entry = await this.#read(this.#keys.term, signal);
      if (entry === undefined) return { state: 'vacant', reason: 'neverLed' };
      const { term, ended } = readTerm(entry);
      if (ended !== undefined || term === gone)
        return { state: 'vacant', term, reason: term < this.#highest ? 'termReset' : (ended?.reason ?? 'expired') };
      const leader = await this.leader(signal);
      if (leader !== undefined) return this.#resetIfLower(leaderIn(leader));
      gone = term;
    }
  }
}

function leaderIn(entry: Entry): SeenLeader {
  return { state: 'leader', term: readLeader(entry).term, entry };
}

/** Whether there is nothing new in it. */
export function isSameSight(a: Sight, b: Sight): boolean {
  if (a.state === 'leader') return b.state === 'leader' && a.term === b.term && a.entry.revision === b.entry.revision;
  return b.state === 'vacant' && a.term === b.term && a.reason === b.reason;
}

/** Whether a sight is what the leader's key holds. */
export function saysTheSame(entry: Entry | undefined, sight: Sight): boolean {
  return entry === undefined ? sight.state === 'vacant' : sight.state === 'leader' && isSameSight(sight, leaderIn(entry));
}
