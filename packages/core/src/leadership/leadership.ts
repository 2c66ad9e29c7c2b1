/** The handle that a leader holds for one term. */

import { checkSignal, type SignalOptions, withSignals } from '../async/abort.ts';
import { LazyPromise } from '../async/lazy-promise.ts';
import type { Cancel } from '../base/clock.ts';
import { withJson } from '../base/json.ts';
import { explainDetached } from '../base/methods.ts';
import type { LeaseSession } from '../lease/session.ts';
import { checkFloor } from '../protocol/terms.ts';
import type { ValueOptions } from '../protocol/value-codec.ts';
import { checkFencedChanges } from '../store/checks.ts';
import type { Change, Key, SwapResult } from '../store/contract.ts';
import { LeaderCalls } from './calls.ts';
import { Drain } from './drain.ts';
import { LeaderRecordWriter, OwnKeys, type OwnKeysNews } from './leader-record.ts';
import { endError, explainEnd, isLoss, isSurelyKept, transition } from './release-machine.ts';
import type { ChosenSuccessor, LeadershipEnd, LeadershipEndReason, ReleaseState } from './release-machine.ts';
import { type LeadershipContext, type LeadershipInit, release } from './release.ts';
import { StoredValue } from './stored-value.ts';
import { type ElectionSpec, handoverError, handOverAsRequested, SuccessorFinder } from './successor-finder.ts';

/** @internal The part of a leadership that a member uses, whatever the type of its value. */
export type ManagedLeadership = Pick<
  Leadership<never>,
  'election' | 'term' | 'ended' | 'released' | 'drained' | 'isValid' | 'close' | 'prepareRelease' | 'transferTo' | 'preferred'
>;

/**
 * One term of leadership. While `isValid()` returns true, no other member of this election is valid
 * (the package's README names the assumptions). Once another member has been elected, the store
 * rejects every write made through this object, even if this process does not know it yet.
 */
export class Leadership<V = unknown> {
  /** The name of the election. */
  readonly election: string;
  /**
   * The number of this leadership: from 1n, and higher than the term of every earlier leadership,
   * unless the store has lost the last term, or an operator has lowered or deleted it. It is the
   * fencing token: send it with every write to a resource that is not the store.
   */
  readonly term: bigint;
  /** The id of the member that leads. */
  readonly memberId: string;

  readonly #context: LeadershipContext;
  readonly #spec: ElectionSpec<V>;
  readonly #session: LeaseSession;
  /** The key of this leader's entry in the queue. No other campaign has the same. */
  readonly #entryKey: Key;
  readonly #ownKeys: OwnKeys;
  readonly #onReleased: LeadershipInit['onReleased'];
  /** Created when `signal` is first read. */
  #abort: AbortController | undefined;
  readonly #end = new LazyPromise<LeadershipEnd>();
  readonly #drained = new LazyPromise<void>();
  readonly #released = new LazyPromise<void>();
  readonly #drain: Drain;
  readonly #record: LeaderRecordWriter;
  readonly #calls: LeaderCalls;
  readonly #successors: SuccessorFinder;
  readonly #leaveSession: Cancel;
  #releaseState: ReleaseState = { phase: 'leading' };

  static {
    explainDetached(Leadership, 'leadership');
  }

  /** @internal */
  constructor(context: LeadershipContext, spec: ElectionSpec<V>, init: LeadershipInit) {
    this.#context = context;
    this.#spec = spec;
    const { session, won, entryWatch, onOtherEntry, onReleased } = init;
    this.#session = session;
    this.#entryKey = won.entry.key;
    this.#ownKeys = new OwnKeys(entryWatch, (news) => this.#onNews(news));
    this.#onReleased = onReleased;
    this.election = spec.election;
    this.term = won.term;
    this.memberId = context.self.memberId;
    this.#drain = new Drain(context.clock);
    this.#record = new LeaderRecordWriter(context, spec.keys, won);
    this.#calls = new LeaderCalls(context, session, this);
    this.#successors = new SuccessorFinder(spec, { key: won.entry.key, incarnation: context.self.incarnation, onOtherEntry }, this.#calls);
    this.#leaveSession = session.onEnd((end) => this.#finish(end.reason));
    this.#ownKeys.begin(won.entry);
  }

  /** Resolves with the reason when `isValid()` becomes false. Never rejects. */
  get ended(): Promise<LeadershipEnd> {
    return this.#end.promise;
  }

  /**
   * Resolves after the drain, when the keys of this term are deleted, or will be deleted with
   * the lease. Never rejects.
   */
  get released(): Promise<void> {
    return this.#released.promise;
  }

  /**
   * Aborts when `isValid()` becomes false. The reason is an `IncumbentError` with the code
   * `LEADERSHIP_ENDED`; its `details` are the `LeadershipEnd`.
   */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      const end = this.#end.value;
      if (end !== undefined) this.#abort.abort(endError(end));
    }
    return this.#abort.signal;
  }

  /**
   * True while this leadership certainly holds: the store keeps the lease, and there is time left
   * for the work to stop. Synchronous. Reads the clocks on each call, so a process that was paused
   * never gets a stale true. Once false, it stays false.
   */
  isValid(): boolean {
    return this.#releaseState.phase === 'leading' && this.#session.isValid();
  }

  /** How long `isValid()` stays true if no further renewal succeeds, in ms. 0 after the end. */
  remainingMs(): number {
    return this.#releaseState.phase === 'leading' ? this.#session.remainingMs() : 0;
  }

  /** `suspect`: a renewal is overdue. Start no long work then. */
  get state(): 'valid' | 'suspect' | 'ended' {
    if (!this.isValid()) return 'ended';
    return this.#session.suspect ? 'suspect' : 'valid';
  }

  /** The facts for a log: `JSON.stringify` cannot write a term, which is a bigint. */
  toJSON(): { readonly election: string; readonly term: string; readonly memberId: string; readonly state: string } {
    return { election: this.election, term: String(this.term), memberId: this.memberId, state: this.state };
  }

  /** @throws `LEADERSHIP_ENDED` if `isValid()` is false. */
  assertValid(): void {
    if (this.isValid()) return;
    throw this.signal.reason ?? endError(this.#explain('deadline'));
  }

  /**
   * The check that this term is still the last one issued, as a change for `compareAndSwap` on the
   * same store. The swap fails once another member has been elected.
   */
  guard(): Change {
    return this.#record.guard;
  }

  /**
   * Writes these changes together with the guard, all or nothing. The guard counts as a change, so
   * the limit is one change less than the store's `maxChanges`.
   *
   * @throws `LEADERSHIP_ENDED`. `TOO_LARGE` for too many changes. `INVALID_OPTION` for a key of the
   *   SDK. The signal's reason. Every other error of `compareAndSwap`: after one whose outcome is
   *   `unknown`, read the keys to find out whether the changes were applied.
   */
  async swap(changes: readonly Change[], options: SignalOptions = {}): Promise<SwapResult> {
    checkFencedChanges(changes, this.#context.store.capabilities);
    const result = await this.#calls.make((call) => this.#context.store.compareAndSwap([this.guard(), ...changes], call), options);
    if (result.swapped) return { swapped: true, revisions: result.revisions.slice(1) };
    if (result.failed.some(({ index }) => index === 0)) throw this.#endWithError('recordReplaced');
    return { swapped: false, failed: result.failed.map(({ index, current }) => ({ index: index - 1, current })) };
  }

  /**
   * A value in the store that this leader reads and changes: JSON, or encoded by a `codec`.
   * @throws `INVALID_OPTION` for a malformed key, a key of the SDK, or wrong options.
   */
  stored<T>(key: Key, options: ValueOptions<T> = {}): StoredValue<T> {
    return new StoredValue(this.#context, this, key, options);
  }

  /**
   * Changes the published value within this term. Retries until the outcome is certain. Resolves
   * when the store has the value, so that observers can see it.
   *
   * @throws `LEADERSHIP_ENDED` if the leadership ends first, or the signal's reason: the value may
   *   have been published. `INVALID_OPTION` for a value that cannot be encoded. `TOO_LARGE`.
   */
  async publish(value: V, options: SignalOptions = {}): Promise<void> {
    const payload = this.#spec.codec.encode(value);
    await withSignals([this.signal, checkSignal(options)], async (signal) => {
      const written = await this.#record.write(payload, { call: (task) => this.#calls.make(task, { signal }), signal });
      if (written !== 'written') throw this.#endWithError(written === 'deleted' ? 'recordDeleted' : 'recordReplaced');
    });
  }

  /**
   * Keeps the drain open until the promise settles, for `drainMs` at most. `lead` does this for its
   * work. Without any such promise, the drain of a resignation ends at once. The drain of a loss,
   * and of an end that an operator or a rebalance causes, then lasts for all of `drainMs`, or until
   * `resign()` says that the work has stopped. If this is a term of `lead`, the member does not
   * campaign again before the promise has settled.
   */
  waitUntil(work: Promise<unknown>): void {
    void this.#drain.add(work);
  }

  /**
   * Delays the release until the promise settles, for `drainMs` at most. Unlike `waitUntil`, it
   * says nothing about the work, and so never shortens the drain. Pass it while this leadership is
   * valid.
   */
  delayRelease(until: Promise<unknown>): void {
    this.#drain.delay(until);
  }

  /** @internal Knows the work of this term, which may outlive the term. */
  get drain(): Drain {
    return this.#drain;
  }

  /**
   * Reports a term that a fence has seen. A term above this one ends the leadership with the reason
   * `termBehind`, and this member's next claim takes a higher term than the reported one, also if
   * the leadership has ended before.
   *
   * @throws `INVALID_OPTION` unless `seen` is from 1n to `2n ** 61n`.
   */
  reportTerm(seen: bigint): void {
    checkFloor('seen', seen);
    if (seen <= this.term) return;
    this.#spec.onSeenTerm(seen);
    this.#finish('termBehind', { seenTerm: seen });
  }

  /**
   * Gives the leadership up, so that the next candidate is elected at once. Calling this asserts
   * that your work has stopped: only promises passed to `waitUntil` are awaited. Resolves when the
   * store has the resignation or the lease has ended, or when the store has made no change for a
   * ttl: then the keys are removed later. Idempotent. After another end, ends the drain.
   * On stores with `assignableLease`, one swap gives the term to the next candidate if it is known.
   */
  async resign(): Promise<void> {
    this.#drain.workStopped();
    await this.resignWhenDrained();
  }

  /** @internal Resigns on another's request, or after a failure of the work. Awaits its end. */
  async resignWhenDrained(failure?: { readonly error: unknown }): Promise<void> {
    this.#finish(failure === undefined ? 'resigned' : 'workFailed', failure);
    await this.released;
  }

  /**
   * Hands the leadership over to the candidate with this member id, or to the next in succession.
   * `isValid()` becomes false, the promises passed to `waitUntil` drain, then one swap transfers
   * the term. Calling this asserts that your work has stopped, as with `resign`.
   *
   * @throws `NO_SUCH_CANDIDATE`, an error of the read of the queue, or the signal's reason: then
   *   the leadership continues. `HANDOVER_FAILED` if the store refused the swap, also because the
   *   chosen candidate has left: then it has ended as a resignation; or if the answer was lost:
   *   then the successor may lead, or may have led. `LEADERSHIP_ENDED`. `INVALID_NAME`.
   */
  async handover(memberId?: string, options: SignalOptions = {}): Promise<void> {
    await this.#handOver(memberId, options, () => this.#drain.workStopped());
  }

  /** @internal Hands over without a call of its holder, whose work gets the time of the drain. */
  async transferTo(memberId: string): Promise<void> {
    await this.#handOver(memberId, {}, () => this.#drain.expectUntrackedWork());
  }

  async #handOver(memberId: string | undefined, options: SignalOptions, atEnd: () => void): Promise<void> {
    checkSignal(options)?.throwIfAborted();
    const chosen = await this.#successors.choose(memberId, options);
    this.assertValid();
    atEnd();
    this.#finish('handover', {}, chosen);
    await this.released;
    if (this.#releaseState.phase === 'released' && this.#releaseState.handoverFailed) throw handoverError(chosen.successor);
  }

  /**
   * @internal Ends the leadership because its member closes. With `next`, hands over to the next in
   * succession: looks for that one while the work drains, and resigns if there is none.
   */
  async close(handover: 'next' | false): Promise<void> {
    this.#finish('memberClosed', {}, handover === 'next' ? handover : undefined);
    await this.released;
  }

  /**
   * @internal Finds the successor and reads the value of the term in advance, so that the release
   * need not read them. True if the successor is found.
   */
  async prepareRelease(): Promise<boolean> {
    const term = this.#record.lookUpTerm((task) => this.#calls.make(task, { signal: this.#session.call.signal }));
    const [isFound] = await Promise.all([this.#successors.lookUp(), term]);
    return isFound;
  }

  /**
   * @internal Begins to watch the leader's record. Called once, after the caller of the campaign
   * has its answer: on some stores, starting a watch takes almost as long as a claim.
   */
  watch(): void {
    this.#ownKeys.watchRecord(this.#spec.keys.leader, this.#record);
  }

  /** @internal Resolves when the drain is over. The lease must not be revoked before. */
  get drained(): Promise<void> {
    return this.#drained.promise;
  }

  /** @internal The member id of the first candidate, if it goes before this leader. */
  preferred(): Promise<string | undefined> {
    return this.#successors.preferred();
  }

  #onNews(news: OwnKeysNews): void {
    switch (news.type) {
      case 'over':
        return this.#finish(news.reason);
      case 'stepDown':
        this.#drain.expectUntrackedWork();
        return this.#finish('steppedDown');
      case 'handOver':
        return this.#handOverOnRequest(news.to);
      default:
        return news satisfies never;
    }
  }

  #handOverOnRequest(to: string): void {
    if (!this.isValid()) return;
    const [{ election, term, signal }, revision] = [this, this.#ownKeys.entryRevision];
    const isOpen = (): boolean => this.isValid() && this.#ownKeys.entryRevision === revision;
    void handOverAsRequested(this.#context, { election, term, to, signal, isOpen, handOver: () => this.transferTo(to) });
  }

  /**
   * The only way to end. Does everything up to the drain synchronously, in this order. `to`: as
   * `wanted` of `SuccessorFinder.atEnd`.
   */
  #finish(reason: LeadershipEndReason, facts: Pick<LeadershipEnd, 'seenTerm' | 'error'> = {}, to?: ChosenSuccessor | 'next'): void {
    // `isValid()` may end the session, and a session that ends calls this method with its reason.
    const isLost = !this.#session.isValid();
    if (this.#releaseState.phase !== 'leading') return;
    // After the end of its session the leadership is lost, whatever the reason of this call.
    if (isLost && reason !== this.#session.ended?.reason) return;
    const { assignableLease } = this.#context.store.capabilities;
    const { chosen, looksForNext } = this.#successors.atEnd(reason, to, assignableLease);
    this.#releaseState = transition(this.#releaseState, { type: 'end', reason, chosen });
    const now = this.#context.clock.monotonic();
    const until = Math.min(now + this.#context.timing.drainMs, this.#session.safeUntil);
    const drainMs = isSurelyKept(reason) ? Math.max(Math.floor(until - now), 0) : 0;
    const end = withJson({ ...this.#explain(reason), drainMs, ...facts });
    this.#abort?.abort(endError(end));
    this.#end.resolve(end);
    const abortMs = this.#context.clock.monotonic() - now;
    this.#context.telemetry.emit('ended', { ...end, why: explainEnd(end), abortMs });
    void this.#release(until, end, looksForNext);
  }

  async #release(until: number, end: LeadershipEnd, looksForNext: boolean): Promise<void> {
    const [{ telemetry }, { keys }, { election }] = [this.#context, this.#spec, this];
    const findNext = this.#successors.findNext.bind(this.#successors);
    const looking = looksForNext ? findNext().catch(() => undefined) : undefined;
    const stopped = await this.#drain.wait(until, end.lost);
    if (!stopped) {
      telemetry.emit('stuck', { election, term: this.term });
      void this.#drain.settled().then(() => telemetry.emit('unstuck', { election, term: this.term }));
    }
    if (telemetry.wants('drained')) telemetry.emit('drained', { election, term: this.term, stopped });
    this.#drained.resolve();
    const successor = looking === undefined ? undefined : await looking;
    const releasing = release(
      { ...this.#context, keys, entryKey: this.#entryKey, session: this.#session, findNext },
      transition(this.#releaseState, { type: 'drained', successor }),
      end.lost ? undefined : this.#record.remains(this.#ownKeys.entryRevision),
    );
    // Begin the release before ending the watches: callers wait for the release alone.
    this.#ownKeys.end();
    this.#leaveSession();
    const released = await releasing;
    this.#releaseState = released;
    telemetry.emit('released', { election, term: this.term });
    this.#onReleased(released);
    this.#released.resolve();
  }

  #explain(reason: LeadershipEndReason): LeadershipEnd {
    return { ...this.#session.report(), election: this.election, term: this.term, reason, lost: isLoss(reason), drainMs: 0 };
  }

  #endWithError(reason: LeadershipEndReason): unknown {
    this.#finish(reason);
    return this.signal.reason;
  }
}
