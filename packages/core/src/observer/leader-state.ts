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

export interface KnownLeader {
  readonly state: 'leader';
  readonly term: bigint;
  /** The record: whoever wants its value reads one of its own. */
  readonly entry: Entry;
  /** Only where the term is lower than one seen before: the store itself has gone back, confirmed by a linearizable read. */
  readonly reason?: 'termReset';
}

export type LeaderState = KnownLeader | VacantView;

export class LeaderStateReader {
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

  /** The state that a watch or a read has shown. Never an older term after one that was kept by {@link keep}, nor one led after its end, unless the store itself has gone back. */
  async see(entry: Entry | undefined, signal: AbortSignal): Promise<LeaderState> {
    if (entry === undefined) return this.#vacancy(signal);
    const state = leaderIn(entry);
    if (state.term > this.#highest || (state.term === this.#highest && !this.#isOver)) return state;
    // A watch may repeat a state of before, or the store has gone back.
    const confirmed = await this.leader(signal);
    return confirmed === undefined ? this.#vacancy(signal) : this.#resetIfLower(leaderIn(confirmed));
  }

  /** The leader's record, by a linearizable read. */
  leader(signal: AbortSignal): Promise<Entry | undefined> {
    return this.#read(this.#keys.leader, signal);
  }

  /** This is what is known from now on. */
  keep({ state, term }: LeaderState): void {
    if (term === undefined) return;
    this.#highest = term;
    this.#isOver = state === 'vacant';
  }

  #resetIfLower(state: KnownLeader): KnownLeader {
    return state.term < this.#highest ? { ...state, reason: 'termReset' } : state;
  }

  #read(key: Key, signal: AbortSignal): Promise<Entry | undefined> {
    return orAborted(this.#store.read(key, { timeoutMs: this.#timeoutMs, signal }), signal);
  }

  /**
   * The leader's key is gone; the term's record tells why, if its holder has said so, and if nobody has followed yet. An end is written as the key goes:
   * read after that, it is there, or there is none. What the watch has told may be a state of before, so only a read tells that the key is gone.
   */
  async #vacancy(signal: AbortSignal): Promise<LeaderState> {
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

function leaderIn(entry: Entry): KnownLeader {
  return { state: 'leader', term: readLeader(entry).term, entry };
}

/** Whether there is nothing new in it. */
export function isSameState(a: LeaderState, b: LeaderState): boolean {
  if (a.state === 'leader') return b.state === 'leader' && a.term === b.term && a.entry.revision === b.entry.revision;
  return b.state === 'vacant' && a.term === b.term && a.reason === b.reason;
}

/** Whether this state is what the leader's key holds. */
export function isStateOf(entry: Entry | undefined, state: LeaderState): boolean {
  return entry === undefined ? state.state === 'vacant' : state.state === 'leader' && isSameState(state, leaderIn(entry));
}
