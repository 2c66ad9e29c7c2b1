/** Finds out who leads an election, or why nobody does, from the keys `leader` and `term`. */

import { orAborted } from '../async/abort.ts';
import type { Clock } from '../base/clock.ts';
import type { WrittenReason } from '../leadership/release-machine.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import { readLeader, readTerm } from '../protocol/record.ts';
import { sameBytes } from '../protocol/value-codec.ts';
import type { Entry, Key, Store } from '../store/contract.ts';

/**
 * How a term ended. `expired`: the leader's lease ended, and the leader wrote no reason: after a
 * crash, a partition or a pause, or when the leader gave up its lease at the deadline. The store
 * cannot distinguish these cases. `unknown`: another program ended the term, without a readable
 * reason. The leader itself wrote every other reason, after its work had stopped. Later versions
 * may add reasons.
 */
export type TermEndReason = 'expired' | 'unknown' | WrittenReason | (string & {});

/**
 * Why nobody leads: how the last term ended, or one of these. `neverLed`: no term was ever issued,
 * or its record was deleted. `termReset`: the store has lost terms. `recordDeleted` is shown as
 * soon as the leader's record is deleted, when the leader's work may still be stopping.
 */
export type VacancyReason = 'neverLed' | 'termReset' | TermEndReason;

/** How the term before a leader's ended. */
export interface PreviousTerm {
  /** The term. Lower by one than the leader's, except where terms were skipped. */
  readonly term: bigint;
  /** The member that held the term. */
  readonly memberId: string;
  /** Why the term ended. The leader's record has it, so every observer shows the same. */
  readonly reason: TermEndReason;
  /**
   * How long the store had no record of a leader between the two terms, in ms, as measured by this
   * process. After a crash, the record stays until the lease ends, so the rest of the dead leader's
   * lease is not included. Absent if no observer of this process saw a vacancy, or not all of it:
   * it joined later, or its view was `unknown` meanwhile. A handover in one swap has no vacancy.
   */
  readonly vacantForMs?: number;
}

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
  readonly previous?: PreviousTerm | undefined;
  /** The number of the record in its term. 0 before the first publication. */
  readonly publication: number;
  /**
   * Only if the term is lower than one seen before: a linearizable read has confirmed that the
   * store has lost terms.
   */
  readonly reason?: 'termReset';
}

/** Who leads, or why nobody does. */
export type LeaderState = KnownLeader | VacantView;

/** Turns events and reads of the key `leader` into states, and remembers the newest one. */
export class LeaderStateReader {
  readonly #store: Store;
  readonly #keys: ElectionKeys;
  readonly #timeoutMs: number;
  /** The highest term of a state passed to `keep`. */
  #highest = 0n;
  /** True if that term has ended. */
  #isOver = false;
  /** The publication of the last leader's state passed to `keep`. */
  #publication = 0;

  constructor(store: Store, keys: ElectionKeys, timeoutMs: number) {
    this.#store = store;
    this.#keys = keys;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Resolves with the state that an event or a read shows. Never an older term or publication than
   * those passed to {@link keep}, and never a leader after the end of its term, unless the store
   * itself has lost terms or writes.
   */
  async stateFor(entry: Entry | undefined, signal: AbortSignal): Promise<LeaderState> {
    if (entry === undefined) return this.#vacancy(signal);
    const state = leaderIn(entry);
    if (!this.#isOld(state)) return state;
    // The watch has repeated an old state, or the store has lost terms or writes.
    const confirmed = await this.leader(signal);
    return confirmed === undefined ? this.#vacancy(signal) : this.#resetIfLower(leaderIn(confirmed));
  }

  /** The leader's record, by a linearizable read. */
  leader(signal: AbortSignal): Promise<Entry | undefined> {
    return this.#read(this.#keys.leader, signal);
  }

  /** Remembers this state as the last one. */
  keep(state: LeaderState): void {
    if (state.term === undefined) return;
    this.#highest = state.term;
    this.#isOver = state.state === 'vacant';
    if (state.state === 'leader') this.#publication = state.publication;
  }

  /**
   * True if a newer state than this one is known. Compares publications, not revisions, because the
   * store contract does not say which of two revisions is newer.
   */
  #isOld({ term, publication }: KnownLeader): boolean {
    if (term !== this.#highest) return term < this.#highest;
    return this.#isOver || publication < this.#publication;
  }

  #resetIfLower(state: KnownLeader): KnownLeader {
    return state.term < this.#highest ? { ...state, reason: 'termReset' } : state;
  }

  #read(key: Key, signal: AbortSignal): Promise<Entry | undefined> {
    return orAborted(this.#store.read(key, { timeoutMs: this.#timeoutMs, signal }), signal);
  }

  /**
   * Finds out why nobody leads, after an event or a read without the key `leader`. A holder that
   * ends its term writes the reason into `term`, in the swap that deletes `leader` and its entry,
   * so this read shows it. If there is no reason, another read confirms that `leader` is absent,
   * because the event may be outdated. If the holder's entry still exists after that, the holder
   * still has its lease, and somebody has deleted `leader` alone. Otherwise `term` is read again,
   * because the holder may have ended its term since.
   */
  async #vacancy(signal: AbortSignal): Promise<LeaderState> {
    for (let gone: bigint | undefined; ;) {
      const entry = await this.#read(this.#keys.term, signal);
      if (entry === undefined) return { state: 'vacant', reason: 'neverLed' };
      const { term, entry: holder, ended } = readTerm(entry);
      if (ended !== undefined || term === gone) return this.#vacant(term, ended?.reason ?? 'expired');
      const leader = await this.leader(signal);
      if (leader !== undefined) return this.#resetIfLower(leaderIn(leader));
      const own = await this.#read(holder, signal);
      if (own !== undefined) return this.#vacant(term, 'recordDeleted');
      gone = term;
    }
  }

  #vacant(term: bigint, reason: TermEndReason): VacantView {
    return { state: 'vacant', term, reason: term < this.#highest ? 'termReset' : reason };
  }
}

/** The state that the leader's record shows. */
export function leaderIn(entry: Entry): KnownLeader {
  const { term, previous, publication = 0 } = readLeader(entry);
  return { state: 'leader', term, entry, previous, publication };
}

/** Measures the vacancies that a watch shows from their beginning to their end. */
export class VacancyTimer {
  readonly #clock: Clock;
  /** The present vacancy, if its beginning was seen, and the term that it follows. */
  #present: { readonly after: bigint; readonly sinceMs: number } | undefined;
  /** The last vacancy, and the terms before and after it. */
  #last: { readonly after: bigint; readonly until: bigint; readonly vacantForMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The record of this leader is gone. */
  begin({ term }: KnownLeader): void {
    this.#present ??= { after: term, sinceMs: this.#clock.monotonic() };
  }

  /** Forgets the present vacancy, because changes may be missed from now on. */
  lose(): void {
    this.#present = undefined;
  }

  /** Adds the length of the vacancy before this leader, if there was one and all of it was seen. */
  end(leader: KnownLeader): KnownLeader {
    const [present, { term, previous }] = [this.#present, leader];
    this.#present = undefined;
    if (present !== undefined && present.after !== term) {
      const vacantForMs = Math.round(this.#clock.monotonic() - present.sinceMs);
      this.#last = { after: present.after, until: term, vacantForMs };
    }
    const last = this.#last;
    if (previous === undefined || last?.after !== previous.term || last.until !== term) return leader;
    return { ...leader, previous: { ...previous, vacantForMs: last.vacantForMs } };
  }
}

/**
 * True if both states are the same. Compares the records too: a store that was wiped may issue the
 * same term again, at the same revision.
 */
export function isSameState(a: LeaderState, b: LeaderState): boolean {
  if (a.state === 'leader') return b.state === 'leader' && a.term === b.term && isSameEntry(a.entry, b.entry);
  return b.state === 'vacant' && a.term === b.term && a.reason === b.reason;
}

function isSameEntry(a: Entry, b: Entry): boolean {
  return a.revision === b.revision && sameBytes(a.value, b.value);
}

/** True if this is the state of the leader's key. */
export function isStateOf(entry: Entry | undefined, state: LeaderState): boolean {
  return entry === undefined ? state.state === 'vacant' : state.state === 'leader' && isSameState(state, leaderIn(entry));
}
