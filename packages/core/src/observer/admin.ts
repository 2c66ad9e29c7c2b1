/**
 * What an operator sees of elections, and may do to one from outside: without a lease, without a
 * campaign.
 */

import { checkSignal, type SignalOptions } from '../async/abort.ts';
import { IncumbentError, isRetryable, outcomeOf } from '../base/errors.ts';
import { checkKnown, checkName, checkNumber, invalidOption, isName } from '../base/validate.ts';
import { electionKeys, type ElectionKeys, ELECTIONS } from '../protocol/keys.ts';
import { readCandidate, readLeader, readTerm, type TermRecord, tryRead, writeRequest, writeTerm } from '../protocol/record.ts';
import { byId, inSuccession, readName } from '../protocol/succession.ts';
import { checkFloor } from '../protocol/terms.ts';
import { payloadCodec, type PayloadCodec, type ValueOptions } from '../protocol/value-codec.ts';
import { checkStore } from '../store/checks.ts';
import type { CallOptions, Change, Entry, Key, Store } from '../store/contract.ts';
import type { CandidateView, LeaderView } from './observer.ts';

export interface ElectionAdminOptions<V> extends ValueOptions<V> {
  /** The most that one call to the store may take, in ms. From 10 to 60,000. Default 2,500. */
  readonly callTimeoutMs?: number;
}

/** An election as the store has it, by reads made one after the other. */
export interface ElectionState<V> {
  readonly name: string;
  /** The last term issued; absent where there was none. */
  readonly term?: bigint;
  readonly leader?: Omit<LeaderView<V>, 'state' | 'reason'>;
  /** How the last term ended, if its holder has said so. */
  readonly ended?: string;
  /**
   * Nobody leads, and the last leader has not let go: it is stopping its work, or its lease runs
   * on. Nobody is elected before.
   */
  readonly stopping: boolean;
  /**
   * The leader first, then the others: in the order of succession where that is one of this SDK's
   * own, else in the order of joining.
   */
  readonly candidates: readonly CandidateView<V>[];
  /** The id of the succession; absent where nobody is a candidate. */
  readonly succession?: string;
}

/**
 * Somebody else may write the same records: a swap that fails on what was just read is made again,
 * so often at most.
 */
const MAX_TRIES = 5;

/**
 * The elections of a store's namespace that ever had a candidate, sorted. A linearizable read of
 * names alone; on ZooKeeper, which is read level by level, an election that comes meanwhile may be
 * missing. Keys that somebody else wrote, whose names no election can have, are left out.
 */
export async function listElections(store: Store, options: SignalOptions & { readonly callTimeoutMs?: number } = {}): Promise<string[]> {
  checkStore(store);
  const entries = await store.list(ELECTIONS, { ...callOf(options.callTimeoutMs ?? DEFAULT_TIMEOUT_MS, options.signal), values: false });
  const names = entries.flatMap(({ key }) => key.split('/')[1] ?? []).filter(isName);
  return [...new Set(names)].toSorted();
}

const DEFAULT_TIMEOUT_MS = 2_500;

/**
 * One election, from outside. No verb takes a term away from a leader: each makes the leader end
 * its term, and nobody else is elected before the leader has stopped, or its lease is over. Each
 * verb is conditional on the term that it is meant for. All keep terms rising but
 * `lowerTermUnsafely`.
 */
export class ElectionAdmin<V = unknown> {
  readonly name: string;
  readonly #store: Store;
  readonly #keys: ElectionKeys;
  readonly #codec: PayloadCodec<V>;
  readonly #callTimeoutMs: number;

  constructor(store: Store, name: string, options: ElectionAdminOptions<V> = {}) {
    checkKnown('election admin', options, ['callTimeoutMs', 'parse', 'codec']);
    checkStore(store);
    this.#store = store;
    this.name = checkName('election', name);
    this.#keys = electionKeys(name);
    this.#codec = payloadCodec(options);
    this.#callTimeoutMs = checkNumber('callTimeoutMs', options.callTimeoutMs, DEFAULT_TIMEOUT_MS, { min: 10, max: 60_000 });
  }

  /**
   * Linearizable reads, one after the other: a change between them may show in one part and not in
   * another.
   */
  async state(options: SignalOptions = {}): Promise<ElectionState<V>> {
    const call = this.#call(options);
    const queue = await this.#store.list(this.#keys.candidates, call);
    const termEntry = await this.#store.read(this.#keys.term, call);
    const leader = await this.#store.read(this.#keys.leader, call);
    const term = termEntry === undefined ? undefined : readTerm(termEntry);
    const succession = queue.flatMap(({ name }) => readName(name)?.succession ?? [])[0];
    const holderIsThere = queue.some(({ key }) => key === term?.entry);
    return {
      name: this.name,
      candidates: this.#candidates(queue, term, succession),
      stopping: leader === undefined && term?.ended === undefined && holderIsThere,
      ...(term === undefined ? {} : { term: term.term }),
      ...(term?.ended === undefined ? {} : { ended: term.ended.reason }),
      ...(leader === undefined ? {} : { leader: this.#leader(leader) }),
      ...(succession === undefined ? {} : { succession }),
    };
  }

  /**
   * Makes the leader of this term step down: its record is deleted, which it watches. It stops as
   * after a loss (`recordDeleted`), drains, and joins the queue again at its end. True when the
   * record is gone by this call, or may be: an answer was lost, and the term is over; false where
   * that term has no leader any more, and nothing was done.
   */
  async stepDown(term: bigint, options: SignalOptions = {}): Promise<boolean> {
    return this.#untilSwapped(options, async (call) => {
      const led = await this.#ledTerm(term, call);
      return led === undefined ? undefined : [led.check, { key: this.#keys.leader, expect: led.leader.revision, delete: true }];
    });
  }

  /**
   * Asks the leader of this term to hand over to a candidate: the request is written into the
   * leader's own entry in the queue, which it watches, and goes with it. Resolves when it is
   * written; then the leader checks the successor, drains its work, and passes the term on. False
   * where that term has no leader any more. Rejects with `NO_SUCH_CANDIDATE`, and asks nothing,
   * when nobody else of that member id is in the queue.
   */
  async requestHandover(term: bigint, memberId: string, options: SignalOptions = {}): Promise<boolean> {
    checkName('memberId', memberId);
    return this.#untilSwapped(options, async (call) => {
      const led = await this.#ledTerm(term, call);
      if (led === undefined) return undefined;
      await this.#checkSuccessor(memberId, led.entry, call);
      return [led.check, { key: led.entry.key, expect: led.entry.revision, put: writeRequest(led.entry, memberId) }];
    });
  }

  /**
   * Takes back what `requestHandover` asked, as far as the leader has not begun with it. True when
   * nothing is asked any more.
   */
  async withdrawHandover(term: bigint, options: SignalOptions = {}): Promise<boolean> {
    return this.#untilSwapped(options, async (call) => {
      const led = await this.#ledTerm(term, call);
      return led === undefined
        ? undefined
        : [led.check, { key: led.entry.key, expect: led.entry.revision, put: writeRequest(led.entry, undefined) }];
    });
  }

  /**
   * UNSAFE FOR FENCES. Replaces the last term issued, `last`, by a lower one, `to`, so that the
   * next leader's term is `to + 1n`. Use it after `TERMS_EXHAUSTED`, and after a wrong `minTerm` or
   * `reportTerm` that raised the terms too far. `last` is the `term` of `state()`. `to` is from 1n
   * to `2n ** 61n`, and below `last`.
   *
   * Terms above `to` are issued a second time. A fence (a `Fence`, a column, a script) that has
   * seen a term above `to` refuses the new leaders until you reset it, and may admit a late write
   * of a former leader of the same term. So reset every such fence, or choose a `to` that none of
   * them has passed. A candidate keeps the floor that its `minTerm` sets, and the floor of terms
   * reported to it: correct the option and restart these members first. A `campaign` or `lead` that
   * was rejected with `TERMS_EXHAUSTED` has to be called again.
   *
   * A leader stops as after `stepDown`, and nobody else is elected before it has stopped. True when
   * this call lowered the term, or may have: an answer was lost, and the last term is another.
   * False where `last` is not the last term, and nothing was done.
   */
  async lowerTermUnsafely(last: bigint, to: bigint, options: SignalOptions = {}): Promise<boolean> {
    if (typeof last !== 'bigint') throw invalidOption('last', last, 'a bigint: the last term issued');
    if (checkFloor('to', to) >= last) throw invalidOption('to', to, `below the term ${last} that it replaces`);
    let holder: Key | undefined;
    return this.#untilSwapped(options, async (call) => {
      const entry = await this.#store.read(this.#keys.term, call);
      const record = entry === undefined ? undefined : readTerm(entry);
      if (entry === undefined || record?.term !== last) return undefined;
      // After a lost answer, `last` may have been issued again, to another holder: that one stays.
      holder ??= record.entry;
      if (record.entry !== holder) return undefined;
      const leader = await this.#store.read(this.#keys.leader, call);
      // The record keeps its holder, whose entry prevents every claim until its work has stopped.
      const put = writeTerm({ ...record, term: to }, record);
      const { leader: key } = this.#keys;
      const gone: Change = leader === undefined ? { key, expect: null } : { key, expect: leader.revision, delete: true };
      return [{ key: this.#keys.term, expect: entry.revision, put }, gone];
    });
  }

  /** What there is of a term that is led; undefined when it is over. */
  async #ledTerm(
    term: bigint,
    call: CallOptions,
  ): Promise<{ readonly leader: Entry; readonly entry: Entry; readonly check: Change } | undefined> {
    const termEntry = await this.#store.read(this.#keys.term, call);
    if (termEntry === undefined) return undefined;
    const record = readTerm(termEntry);
    if (record.term !== term || record.ended !== undefined) return undefined;
    const entry = await this.#store.read(record.entry, call);
    const leader = await this.#store.read(this.#keys.leader, call);
    if (entry === undefined || leader === undefined || readLeader(leader).term !== term) return undefined;
    return { leader, entry, check: { key: this.#keys.term, expect: termEntry.revision } };
  }

  /**
   * Reads and swaps until it is certain. One whose answer was lost is found done, or made again, by
   * the next look.
   */
  async #untilSwapped(options: SignalOptions, changes: (call: CallOptions) => Promise<Change[] | undefined>): Promise<boolean> {
    const call = this.#call(options);
    for (let tries = 1, unknown = false; ; tries += 1) {
      const wanted = await changes(call);
      if (wanted === undefined) return unknown;
      try {
        if ((await this.#store.compareAndSwap(wanted, call)).swapped) return true;
      } catch (error) {
        if (!isRetryable(error) || tries >= MAX_TRIES) throw error;
        unknown ||= outcomeOf(error) === 'unknown';
        continue;
      }
      if (tries >= MAX_TRIES) throw new IncumbentError('STORE_FAILED', `"${this.name}" changed at each of ${tries} tries`);
    }
  }

  async #checkSuccessor(memberId: string, leader: Entry, call: CallOptions): Promise<void> {
    const queue = await this.#store.list(this.#keys.candidates, { ...call, values: false });
    const others = queue.filter(({ key }) => key !== leader.key).map(({ name }) => readName(name)?.memberId);
    if (others.includes(memberId)) return;
    throw new IncumbentError('NO_SUCH_CANDIDATE', `"${memberId}" is no candidate of "${this.name}" that could be handed to`, {
      details: { memberId, candidates: others },
    });
  }

  #candidates(queue: readonly Entry[], term: TermRecord | undefined, succession: string | undefined): CandidateView<V>[] {
    const views = inSuccession(queue, byId(succession)).map(({ entry, memberId, incarnation, rank }) => {
      const value = this.#codec.decode(tryRead(readCandidate, entry)?.payload);
      return { memberId, incarnation, rank, value, leads: term?.ended === undefined && entry.key === term?.entry };
    });
    return views.toSorted((a, b) => Number(b.leads) - Number(a.leads));
  }

  #leader(entry: Entry): Omit<LeaderView<V>, 'state' | 'reason'> {
    const { term, memberId, incarnation, payload } = readLeader(entry);
    return { term, memberId, incarnation, value: this.#codec.decode(payload) };
  }

  #call(options: SignalOptions): CallOptions {
    return callOf(this.#callTimeoutMs, checkSignal(options));
  }
}

function callOf(timeoutMs: number, signal: AbortSignal | undefined): CallOptions {
  return signal === undefined ? { timeoutMs } : { timeoutMs, signal };
}
