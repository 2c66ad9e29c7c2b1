/** The operator's tools: reads an election, and ends or moves a leadership from outside. */

import { checkSignal, type SignalOptions } from '../async/abort.ts';
import { IncumbentError, isRetryable, outcomeOf } from '../base/errors.ts';
import { withJson } from '../base/json.ts';
import { explainDetached } from '../base/methods.ts';
import { checkKnown, checkName, invalidOption, isName } from '../base/validate.ts';
import { electionKeys, type ElectionKeys, ELECTIONS } from '../protocol/keys.ts';
import {
  readCandidate,
  readLeader,
  readTerm,
  type TermRecord,
  tryRead,
  writeRequest,
  writeStepDown,
  writeLowered,
} from '../protocol/record.ts';
import { byId, choiceOf, inSuccession, memberIdsOf, readName } from '../protocol/succession.ts';
import { checkFloor } from '../protocol/terms.ts';
import { payloadCodec, type PayloadCodec, type ValueOptions } from '../protocol/value-codec.ts';
import { checkCallTimeout, checkStore } from '../store/checks.ts';
import type { CallOptions, Change, Entry, Key, Store } from '../store/contract.ts';
import { type CandidateView, candidateViews, type LeaderView } from './observer.ts';

/** The options of an {@link ElectionAdmin}. */
export interface ElectionAdminOptions<V = unknown> extends ValueOptions<V> {
  /** The most that one call to the store may take, in ms. From 10 to 60,000. Default 2,500. */
  readonly callTimeoutMs?: number | undefined;
}

/** The state of an election. */
export interface ElectionState<V = unknown> {
  readonly name: string;
  /** The last term issued. Absent if there was none. */
  readonly term?: bigint;
  /** Absent if nobody leads. */
  readonly leader?: Omit<LeaderView<V>, 'state' | 'reason'>;
  /** The reason that the last leader wrote when it ended its term. Absent if it wrote none. */
  readonly ended?: string;
  /**
   * True if the last leader's record is deleted, or `stepDown` was requested, and the last leader's
   * entry still exists: its work is stopping, or its lease has not ended. Nobody can be elected
   * until then.
   */
  readonly stopping: boolean;
  /**
   * The leader first, then the others: in the order of succession, or in the order of joining if
   * the succession is one of the user's own.
   */
  readonly candidates: readonly CandidateView<V>[];
  /** The id of the succession. Absent if there are no candidates. */
  readonly succession?: string;
}

/** The most tries of a swap whose keys others changed between the read and the swap. */
const MAX_TRIES = 5;

/**
 * Lists the elections of the store's namespace that ever had a candidate, sorted by name. One
 * linearizable read of the names. On ZooKeeper, which is read level by level, an election that
 * begins during the call may be missing. Leaves out keys whose names no election can have.
 *
 * `callTimeoutMs` is the most that the read may take, in ms. From 10 to 60,000. Default 2,500.
 *
 * @throws The error of the read, the signal's reason, or `INVALID_OPTION`.
 */
export async function listElections(store: Store, options: SignalOptions & { readonly callTimeoutMs?: number } = {}): Promise<string[]> {
  checkStore(store);
  const signal = checkSignal(options, ['callTimeoutMs']);
  const entries = await store.list(ELECTIONS, { timeoutMs: checkCallTimeout(options.callTimeoutMs), signal, values: false });
  const names = entries.flatMap(({ key }) => key.split('/')[1] ?? []).filter(isName);
  return [...new Set(names)].toSorted();
}

/**
 * An operator's access to one election. No method transfers a term: each one makes the leader end
 * its own term, and nobody else is elected until the leader has stopped or its lease has ended. The
 * caller names the term, and a method does nothing if that term is over. Terms keep rising, except
 * after `lowerTermUnsafely`.
 *
 * Every method rejects with an error of a store call, with the signal's reason, or with
 * `FOREIGN_DATA` or `NEWER_FORMAT` for a record that it cannot read, and with `INVALID_OPTION` for
 * a term that is no bigint. Methods that write retry after a failure that may pass, 5 tries at
 * most; `STORE_FAILED` if the keys changed at each try. If the answer to a write was lost, the
 * error has the outcome `unknown`.
 */
export class ElectionAdmin<V = unknown> {
  /** The name of the election. */
  readonly name: string;
  readonly #store: Store;
  readonly #keys: ElectionKeys;
  readonly #codec: PayloadCodec<V>;
  readonly #callTimeoutMs: number;

  static {
    explainDetached(ElectionAdmin, 'admin');
  }

  /**
   * Does no I/O.
   *
   * @throws `INVALID_NAME` or `INVALID_OPTION`.
   */
  constructor(store: Store, name: string, options: ElectionAdminOptions<V> = {}) {
    checkKnown('election admin', options, ['callTimeoutMs', 'parse', 'codec']);
    checkStore(store);
    this.#store = store;
    this.name = checkName('election', name);
    this.#keys = electionKeys(name);
    this.#codec = payloadCodec(options);
    this.#callTimeoutMs = checkCallTimeout(options.callTimeoutMs);
  }

  /**
   * Reads the state of the election by several linearizable reads. A change between two reads may
   * show in one part of the result and not in another.
   */
  async state(options: SignalOptions = {}): Promise<ElectionState<V>> {
    const call = this.#call(options);
    const queue = await this.#store.list(this.#keys.candidates, call);
    const termEntry = await this.#store.read(this.#keys.term, call);
    const leader = await this.#store.read(this.#keys.leader, call);
    const term = termEntry === undefined ? undefined : readTerm(termEntry);
    const succession = queue.flatMap(({ name }) => readName(name)?.succession ?? [])[0];
    const holder = queue.find(({ key }) => key === term?.entry);
    const isOver = leader === undefined || tryRead(readCandidate, holder)?.stepDown === true;
    return withJson({
      name: this.name,
      candidates: this.#candidates(queue, term, succession),
      stopping: isOver && holder !== undefined && term?.ended === undefined,
      ...(term === undefined ? {} : { term: term.term }),
      ...(term?.ended === undefined ? {} : { ended: term.ended.reason }),
      ...(leader === undefined ? {} : { leader: this.#leader(leader) }),
      ...(succession === undefined ? {} : { succession }),
    });
  }

  /**
   * Requests that the leader of this term step down (`steppedDown`). The request is a field in the
   * leader's own entry in the queue, which the leader watches. The leader stops when it sees the
   * request, drains, deletes its record and its entry, and joins the queue again at the end. A
   * leader that does not see the request leads until its lease ends.
   *
   * Resolves with true when the request is written, or may have been: an answer was lost, and the
   * term is over. Resolves with false, and does nothing, if the term was already over.
   */
  async stepDown(term: bigint, options: SignalOptions = {}): Promise<boolean> {
    return this.#untilRequested(term, options, writeStepDown);
  }

  /**
   * Requests that the leader of this term hands over to a candidate. The request is a field in the
   * leader's own entry in the queue, which the leader watches. Resolves with true when the request
   * is written; the leader then checks the candidate, drains its work and hands over. Resolves with
   * false if the term is over.
   *
   * @throws `NO_SUCH_CANDIDATE` if no other member with this id is in the queue; then nothing is
   *   requested. `INVALID_NAME`.
   */
  async requestHandover(term: bigint, memberId: string, options: SignalOptions = {}): Promise<boolean> {
    checkName('memberId', memberId);
    return this.#untilRequested(term, options, async (entry, call) => {
      await this.#checkSuccessor(memberId, entry, call);
      return writeRequest(entry, memberId);
    });
  }

  /**
   * Withdraws a request of `requestHandover`. Resolves with true when there is no request any more,
   * and with false if the term is over. True does not mean that the term goes on: a leader that has
   * begun to stop its work before the withdrawal still hands over.
   */
  async withdrawHandover(term: bigint, options: SignalOptions = {}): Promise<boolean> {
    return this.#untilRequested(term, options, (entry) => writeRequest(entry, undefined));
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
   * them has passed. A member remembers its `minTerm` and the terms reported to it, and claims no
   * lower term: correct the option and restart these members first. A `campaign` or `lead` that was
   * rejected with `TERMS_EXHAUSTED` has to be called again.
   *
   * A leader stops as after `stepDown`, and nobody else is elected until it has stopped. Resolves
   * with true if this call has lowered the term, or may have: an answer was lost, and the last term
   * is another one. Resolves with false, and does nothing, if `last` is not the last term.
   *
   * @throws `INVALID_OPTION` for a `last` or `to` out of range.
   */
  async lowerTermUnsafely(last: bigint, to: bigint, options: SignalOptions = {}): Promise<boolean> {
    if (typeof last !== 'bigint') throw invalidOption('last', last, 'a bigint: the last term issued');
    if (checkFloor('to', to) >= last) throw invalidOption('to', to, `below the term ${last} that it replaces`);
    let holder: Key | undefined;
    return this.#untilSwapped(options, async (call) => {
      const entry = await this.#store.read(this.#keys.term, call);
      const record = entry === undefined ? undefined : readTerm(entry);
      if (entry === undefined || record?.term !== last) return undefined;
      // After a lost answer, `last` may have been issued again to another holder: keep that term.
      holder ??= record.entry;
      if (record.entry !== holder) return undefined;
      const leader = await this.#store.read(this.#keys.leader, call);
      // The record keeps the holder, whose entry blocks every claim until its work has stopped.
      const put = writeLowered(record, to);
      const { leader: key } = this.#keys;
      const gone: Change = leader === undefined ? { key, expect: null } : { key, expect: leader.revision, delete: true };
      return [{ key: this.#keys.term, expect: entry.revision, put }, gone];
    });
  }

  /** Writes the request that `write` encodes into the leader's entry, unless the term is over. */
  #untilRequested(
    term: bigint,
    options: SignalOptions,
    write: (entry: Entry, call: CallOptions) => Uint8Array | Promise<Uint8Array>,
  ): Promise<boolean> {
    return this.#untilSwapped(options, async (call) => {
      const led = await this.#ledTerm(term, call);
      return led && [led.check, { key: led.entry.key, expect: led.entry.revision, put: await write(led.entry, call) }];
    });
  }

  /** Reads the leader's entry of this term. Undefined if the term is over. Checks `term`. */
  async #ledTerm(term: bigint, call: CallOptions): Promise<{ readonly entry: Entry; readonly check: Change } | undefined> {
    if (typeof term !== 'bigint') throw invalidOption('term', term, 'a bigint: the term of state()');
    const termEntry = await this.#store.read(this.#keys.term, call);
    if (termEntry === undefined) return undefined;
    const record = readTerm(termEntry);
    if (record.term !== term || record.ended !== undefined) return undefined;
    const entry = await this.#store.read(record.entry, call);
    const leader = await this.#store.read(this.#keys.leader, call);
    if (entry === undefined || leader === undefined || readLeader(leader).term !== term) return undefined;
    return { entry, check: { key: this.#keys.term, expect: termEntry.revision } };
  }

  /**
   * Repeats `changes`, which reads the keys, and the swap of its result, until the outcome is
   * certain. After a lost answer, the next read shows whether the swap was applied. Resolves with
   * true if a swap was applied, and with false if `changes` returned nothing to swap, except after
   * a lost answer. After a lost answer, rejects only with the error of that swap, whose outcome is
   * unknown, or with the reason of the caller's signal.
   */
  async #untilSwapped(options: SignalOptions, changes: (call: CallOptions) => Promise<Change[] | undefined>): Promise<boolean> {
    const call = this.#call(options);
    /** The error of a swap that the store may have applied. */
    let lost: unknown;
    for (let tries = 1; ; tries += 1) {
      let wanted: Change[] | undefined;
      try {
        wanted = await changes(call);
        if (wanted === undefined) return lost !== undefined;
        if ((await this.#store.compareAndSwap(wanted, call)).swapped) return true;
        if (tries >= MAX_TRIES) throw new IncumbentError('STORE_FAILED', `"${this.name}" changed at each of ${tries} tries`);
      } catch (error) {
        if (call.signal?.aborted === true) throw error;
        // A read that failed has written nothing.
        if (wanted !== undefined && outcomeOf(error) === 'unknown') lost ??= error;
        if (!isRetryable(error) || tries >= MAX_TRIES) throw lost ?? error;
      }
    }
  }

  async #checkSuccessor(memberId: string, leader: Entry, call: CallOptions): Promise<void> {
    const queue = await this.#store.list(this.#keys.candidates, { ...call, values: false });
    const others = memberIdsOf(queue.filter(({ key }) => key !== leader.key));
    if (others.includes(memberId)) return;
    const message = `"${memberId}" is no candidate of "${this.name}" that could be handed to: ${choiceOf(others)}`;
    throw new IncumbentError('NO_SUCH_CANDIDATE', message, { details: { memberId, candidates: others } });
  }

  #candidates(queue: readonly Entry[], term: TermRecord | undefined, succession: string | undefined): readonly CandidateView<V>[] {
    return candidateViews(inSuccession(queue, byId(succession)), term, (entry) =>
      this.#codec.decode(tryRead(readCandidate, entry)?.payload, entry.key),
    );
  }

  #leader(entry: Entry): Omit<LeaderView<V>, 'state' | 'reason'> {
    const { term, memberId, incarnation, payload, previous } = readLeader(entry);
    const view = { term, memberId, incarnation, value: this.#codec.decode(payload, entry.key) };
    return withJson(previous === undefined ? view : { ...view, previous });
  }

  #call(options: SignalOptions): CallOptions {
    return { timeoutMs: this.#callTimeoutMs, signal: checkSignal(options) };
  }
}
