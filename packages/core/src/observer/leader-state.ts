/** Finds out who leads an election, or why nobody does, from the keys `leader` and `term`. */

import { orAborted } from '../async/abort.ts';
import type { WrittenReason } from '../leadership/release-machine.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import { readLeader, readTerm } from '../protocol/record.ts';
import type { Entry, Key, Store } from '../store/contract.ts';

/**
 * Why nobody leads. `neverLed`: no term was ever issued, or its record was deleted. `expired`: the
 * last leader has written no reason, because its lease has ended or somebody has deleted its
 * record. In the second case, a leader that is alive writes `recordDeleted` when its work has
 * stopped. `termReset`: the store has lost terms. The last leader wrote the other reasons. Later
 * versions may add reasons.
 */
export type VacancyReason = 'expired' | 'neverLed' | 'termReset' | WrittenReason | (string & {});

/** A view of an election that nobody leads. */
export interface VacantView {
  readonly state: 'vacant';
  /** The last term issued. Absent if there was none. */
  readonly term?: bigint;
  readonly reason: VacancyReason;
}

/** The leader's record, with its term decoded. */
export interface KnownLeader {
  readonly state: 'leader';
  readonly term: bigint;
  /** The record. Each observer decodes the value with its own codec. */
  readonly entry: Entry;
  /**
   * Only if the term is lower than one seen before: a linearizable read has confirmed that the
   * store has gone back.
   */
  readonly reason?: 'termReset';
}

/** Who leads, or why nobody does. */
export type LeaderState = KnownLeader | VacantView;

/** Turns events and reads of the key `leader` into states, and remembers the highest term. */
export class LeaderStateReader {
  readonly #store: Store;
  readonly #keys: ElectionKeys;
  readonly #timeoutMs: number;
  /** The highest term of a state passed to `keep`. */
  #highest = 0n;
  /** True if that term has ended. */
  #isOver = false;

  constructor(store: Store, keys: ElectionKeys, timeoutMs: number) {
    this.#store = store;
    this.#keys = keys;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Resolves with the state that an event or a read shows. Never an older term than one passed to
   * {@link keep}, and never a leader after the end of its term, unless the store itself has gone
   * back.
   */
  async see(entry: Entry | undefined, signal: AbortSignal): Promise<LeaderState> {
    if (entry === undefined) return this.#vacancy(signal);
    const state = leaderIn(entry);
    if (state.term > this.#highest || (state.term === this.#highest && !this.#isOver)) return state;
    // The watch has repeated an old state, or the store has gone back.
    const confirmed = await this.leader(signal);
    return confirmed === undefined ? this.#vacancy(signal) : this.#resetIfLower(leaderIn(confirmed));
  }

  /** The leader's record, by a linearizable read. */
  leader(signal: AbortSignal): Promise<Entry | undefined> {
    return this.#read(this.#keys.leader, signal);
  }

  /** Remembers this state as the last one. */
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
   * Finds out why nobody leads, after an event or a read without the key `leader`. A holder that
   * ends its term writes the reason into `term`, in the swap that deletes `leader`, so this read
   * shows it. If there is no reason, another read confirms that `leader` is absent, because the
   * event may be outdated.
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

/** True if both states are the same. */
export function isSameState(a: LeaderState, b: LeaderState): boolean {
  if (a.state === 'leader') return b.state === 'leader' && a.term === b.term && a.entry.revision === b.entry.revision;
  return b.state === 'vacant' && a.term === b.term && a.reason === b.reason;
}

/** True if this is the state of the leader's key. */
export function isStateOf(entry: Entry | undefined, state: LeaderState): boolean {
  return entry === undefined ? state.state === 'vacant' : state.state === 'leader' && isSameState(state, leaderIn(entry));
}
