/** The handle that a leader holds for one term. */

import { onAbort, orAborted, type SignalOptions } from '../async/abort.ts';
import { LazyPromise } from '../async/lazy-promise.ts';
import type { Semaphore } from '../async/semaphore.ts';
import type { Cancel } from '../base/clock.ts';
import { IncumbentError } from '../base/errors.ts';
import type { LeaseSession, SessionContext } from '../lease/session.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import { readCandidate, tryRead } from '../protocol/record.ts';
import type { Successor, Succession } from '../protocol/succession.ts';
import { checkFloor } from '../protocol/terms.ts';
import type { MemberIdentity, Won } from '../protocol/transactions.ts';
import type { PayloadCodec } from '../protocol/value-codec.ts';
import { checkFenced } from '../store/checks.ts';
import type { CallOptions, Change, Entry, Key, ListOptions, SwapResult } from '../store/contract.ts';
import type { KeyWatch } from '../store/key-watch.ts';
import { Drain } from './drain.ts';
import { findSuccessor, handoverError, type LeaderQueue, preferredCandidate } from './handover.ts';
import { OwnRecord } from './leader-record.ts';
import { transition, isLoss, isSurelyKept, type LeadershipEnd, type LeadershipEndReason, type ReleaseState } from './release-machine.ts';
import { release, type Released } from './release.ts';

/** @internal What a member lends to its leaderships. */
export interface LeadershipContext extends SessionContext {
  readonly self: MemberIdentity;
  readonly semaphore: Semaphore;
}

/** @internal What an election is to this member, for as long as that lives. */
export interface ElectionSpec<V> {
  readonly election: string;
  readonly keys: ElectionKeys;
  readonly succession: Succession;
  readonly codec: PayloadCodec<V>;
}

/** @internal How one leadership came about, and who hears of its end. */
export interface LeadershipInit {
  readonly session: LeaseSession;
  readonly won: Won;
  /** The watch on its own entry, taken over from the campaign. It is the leadership's to end. */
  readonly own: KeyWatch;
  /** Called once, when the store holds nothing of the term any more, or what it holds cannot be helped. */
  readonly onReleased: (released: Released, end: LeadershipEnd) => void;
}

/** @internal What a member needs of a leadership, whatever it publishes. */
export type ManagedLeadership = Pick<
  Leadership<never>,
  'term' | 'ended' | 'released' | 'drained' | 'isValid' | 'close' | 'resignWhenDrained' | 'transferTo' | 'preferred'
>;

/**
 * One term of leadership. While `isValid()` says so, no other member of this election believes that it leads (see the guarantees for what that
 * rests on); every write through it is refused by the store once another has been elected, whatever this process believes.
 */
export class Leadership<V = unknown> {
  /** This leadership's number: from 1, higher than that of any leadership before. Send it along with everything the leader does. */
  readonly term: bigint;
  readonly memberId: string;

  readonly #context: LeadershipContext;
  readonly #spec: ElectionSpec<V>;
  readonly #session: LeaseSession;
  /** Its entry's key: unique to the campaign that it came of. */
  readonly #entryKey: Key;
  readonly #own: KeyWatch;
  readonly #onReleased: LeadershipInit['onReleased'];
  /** Made when somebody asks for its signal: many leaderships live and end without. */
  #abort: AbortController | undefined;
  readonly #end = new LazyPromise<LeadershipEnd>();
  readonly #drained = new LazyPromise<void>();
  readonly #released = new LazyPromise<void>();
  readonly #drain: Drain;
  readonly #record: OwnRecord;
  /** Its own in the queue, as the watch told last. */
  #entry: Entry;
  readonly #leaveSession: Cancel;
  readonly #letGo: Cancel;
  #releaseState: ReleaseState = { phase: 'leading' };

  /** @internal */
  constructor(context: LeadershipContext, spec: ElectionSpec<V>, init: LeadershipInit) {
    this.#context = context;
    this.#spec = spec;
    const { session, won, own, onReleased } = init;
    this.#session = session;
    this.#entryKey = won.entry.key;
    this.#own = own;
    this.#onReleased = onReleased;
    this.term = won.term;
    this.memberId = context.self.memberId;
    this.#drain = new Drain(context.clock);
    this.#record = new OwnRecord(context, spec.keys, won);
    this.#entry = won.entry;
    this.#letGo = context.clock.keepAlive();
    this.#leaveSession = session.onEnd((end) => this.#finish(end.reason));
    own.onNews(() => this.#seeEntry());
  }

  /** Resolves when belief ends, with the reason. Never rejects. */
  get ended(): Promise<LeadershipEnd> {
    return this.#end.promise;
  }

  /** Resolves when the drain is over and the store holds nothing of this term any more, or all of it goes with the lease. Never rejects. */
  get released(): Promise<void> {
    return this.#released.promise;
  }

  /** Aborts when belief ends. Its reason is an `IncumbentError` with the code `LEADERSHIP_ENDED`, and the `LeadershipEnd` as `details`. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      const end = this.#end.value;
      if (end !== undefined) this.#abort.abort(this.#error(end));
    }
    return this.#abort.signal;
  }

  /**
   * Whether this leadership certainly stands: synchronous, and true only while the store vouches for the lease with time left to stop. It reads
   * the clocks on each call, so a paused process is never told a stale true. Once false, always false.
   */
  isValid(): boolean {
    return this.#releaseState.phase === 'leading' && this.#session.isValid();
  }

  /** How long it stays valid if no renewal succeeds any more, in ms; 0 when it has ended. */
  remainingMs(): number {
    return this.#releaseState.phase === 'leading' ? this.#session.remainingMs() : 0;
  }

  /** `suspect`: a renewal is overdue; start nothing that takes long. */
  get state(): 'valid' | 'suspect' | 'ended' {
    if (!this.isValid()) return 'ended';
    return this.#session.suspect ? 'suspect' : 'valid';
  }

  /** Throws `LEADERSHIP_ENDED` unless `isValid()`. */
  assertValid(): void {
    if (this.isValid()) return;
    throw this.signal.reason ?? this.#error(this.#explain('deadline'));
  }

  /** "My term is still the last one", as a change for `compareAndSwap` on the same store. */
  guard(): Change {
    return this.#record.guard;
  }

  /**
   * A fenced write in the store: these changes and the guard, all or nothing. The guard is a change, too: the store's `maxChanges` less one may be
   * passed, and more are refused as `TOO_LARGE`. Rejects with `LEADERSHIP_ENDED` when another has the term, and as `compareAndSwap` does; an `unknown`
   * outcome is the caller's to resolve.
   */
  async swap(changes: readonly Change[], options: SignalOptions = {}): Promise<SwapResult> {
    checkFenced(changes, this.#context.store.capabilities);
    this.assertValid();
    const result = await this.#call((call) => this.#context.store.compareAndSwap([this.guard(), ...changes], call), options);
    if (result.swapped) return { swapped: true, revisions: result.revisions.slice(1) };
    if (result.failed.some(({ index }) => index === 0)) throw this.#overtaken('recordReplaced');
    return { swapped: false, failed: result.failed.map(({ index, current }) => ({ index: index - 1, current })) };
  }

  /** Changes the value that this leader publishes, within its term. Resolves when observers can see it; rejects with `LEADERSHIP_ENDED` when that is over. */
  async publish(value: V, options: SignalOptions = {}): Promise<void> {
    const payload = this.#spec.codec.encode(value);
    const over = new AbortController();
    const stops = [this.signal, options.signal].map((signal) => onAbort(signal, () => over.abort(signal?.reason)));
    const goOn = (): void => {
      this.assertValid();
      over.signal.throwIfAborted();
    };
    try {
      const { signal } = over;
      const writing = this.#record.write(payload, { call: (task) => this.#call(task, { signal }), signal, goOn });
      const written = await orAborted(writing, signal);
      if (written !== 'written') throw this.#overtaken(written === 'deleted' ? 'recordDeleted' : 'recordReplaced');
    } finally {
      for (const stop of stops) stop();
    }
  }

  /**
   * Keeps the drain open until the promise settles, `drainMs` at most. `lead` does this for its work. A leadership without any is drained at once
   * when it is given up, and for the whole of `drainMs`, or until `resign()` says that the work has stopped, when it is lost.
   */
  waitUntil(work: Promise<unknown>): void {
    void this.#drain.add(work);
  }

  /** @internal The work of `lead`: waited for like any other, but when the work itself resigns or hands over. */
  trackLeadWork(work: Promise<unknown>): void {
    this.#drain.trackLeadWork(work);
  }

  /**
   * Tells of a term that a fence has seen. A newer one ends leadership as `termBehind`, and the next
   * claim takes a newer term still. One beyond `2n ** 61n` is false: it is refused (`INVALID_OPTION`).
   */
  reportTerm(seen: bigint): void {
    checkFloor('seen', seen);
    if (seen > this.term) this.#finish('termBehind', { seenTerm: seen });
  }

  /**
   * Gives leadership up; the next candidate follows at once. It is the work's own word that it has stopped: nothing is waited for but what
   * `waitUntil` was given. Resolves when the store has it, or has let the lease go. Idempotent; on a lost leadership it ends the drain.
   */
  async resign(): Promise<void> {
    this.#drain.workStopped();
    await this.resignWhenDrained();
  }

  /** @internal The same, at somebody else's wish: the work of `lead` is told, and waited for. */
  async resignWhenDrained(): Promise<void> {
    this.#finish('resigned');
    await this.released;
  }

  /**
   * Gives leadership up in favour of a candidate: of this member id, or the next in succession. Rejects with `NO_SUCH_CANDIDATE`, and leadership
   * goes on, if there is none. Then belief ends, what `waitUntil` was given drains, and one swap passes the term on; if the store refuses that,
   * leadership has ended as if by resigning, and this rejects with `HANDOVER_FAILED`. Like `resign`, it is the work's own word.
   */
  async handover(memberId?: string, options: SignalOptions = {}): Promise<void> {
    await this.#handOver(memberId, options, () => this.#drain.workStopped());
  }

  /** @internal The same, at somebody else's wish: the work of `lead` is told, and waited for. */
  async transferTo(memberId?: string): Promise<void> {
    await this.#handOver(memberId, {}, () => {});
  }

  async #handOver(memberId: string | undefined, options: SignalOptions, atEnd: () => void): Promise<void> {
    this.assertValid();
    const successor = await findSuccessor(this.#queue(options), memberId);
    this.assertValid();
    atEnd();
    this.#finish('handover', {}, successor);
    await this.released;
    if (this.#releaseState.phase === 'released' && this.#releaseState.handoverFailed) throw handoverError(successor);
  }

  /** @internal Ends it because its member closes. */
  close(): void {
    this.#finish('memberClosed');
  }

  /** @internal Begins to watch its record. Called once, when whoever waited to lead has been told: on some stores to begin takes a good part of what a claim takes. */
  watch(): void {
    this.#own.alsoWatch(this.#spec.keys.leader, (record) => this.#seeRecord(record));
  }

  /** @internal Resolves when the drain is over: not before may the lease be revoked. */
  get drained(): Promise<void> {
    return this.#drained.promise;
  }

  /** @internal Whether another candidate goes before this leader by the order of succession. */
  preferred(): Promise<string | undefined> {
    return preferredCandidate(this.#queue({}));
  }

  #seeRecord(record: Entry | undefined): void {
    if (record === undefined) this.#finish('recordDeleted');
    else if (!this.#record.isMine(record)) this.#finish('recordReplaced');
  }

  #seeEntry(): void {
    const news = this.#own.take();
    if (news === undefined) return;
    if (news.entry === undefined) return this.#finish('entryDeleted');
    this.#entry = news.entry;
    this.#heed(tryRead(readCandidate, news.entry)?.handTo);
  }

  /** An operator's request stands in this leader's own entry: so it is for this term, and goes with it. */
  #heed(successor: string | undefined): void {
    if (successor === undefined || !this.isValid()) return;
    const { telemetry } = this.#context;
    const { election } = this.#spec;
    const about = { election, term: this.term, to: successor };
    telemetry.emit('handoverRequested', about);
    this.#handOver(successor, {}, () => this.#drain.expectUntrackedWork()).catch((error: unknown) =>
      telemetry.emit('retry', { doing: 'requestedHandover', ...about, error }),
    );
  }

  /** The one way out: everything up to the drain happens here, synchronously and in this order. */
  #finish(reason: LeadershipEndReason, facts: { readonly seenTerm?: bigint } = {}, successor?: Successor): void {
    if (this.#releaseState.phase !== 'leading') return;
    // Past its deadline it was lost, whatever else has happened meanwhile: to ask ends the session, and this with it.
    if (this.#session.ended === undefined && !this.#session.isValid()) return;
    this.#releaseState = transition(
      this.#releaseState,
      successor === undefined ? { type: 'end', reason } : { type: 'end', reason, successor },
    );
    const now = this.#context.clock.monotonic();
    const until = Math.min(now + this.#context.timing.drainMs, this.#session.safeUntil);
    const end = { ...this.#explain(reason), drainMs: isSurelyKept(reason) ? Math.max(until - now, 0) : 0, ...facts };
    this.#abort?.abort(this.#error(end));
    this.#end.resolve(end);
    this.#context.telemetry.emit('ended', { election: this.#spec.election, ...end });
    void this.#release(until, end);
  }

  async #release(until: number, end: LeadershipEnd): Promise<void> {
    const { telemetry } = this.#context;
    const { election, keys } = this.#spec;
    const stopped = await this.#drain.wait(until, end.lost);
    if (!stopped) {
      telemetry.emit('stuck', { election, term: this.term });
      void this.#drain.rest().then(() => telemetry.emit('unstuck', { election, term: this.term }));
    }
    this.#drained.resolve();
    const known = end.lost ? undefined : this.#record.remains(this.#entry);
    const releasing = release(
      { ...this.#context, keys, entryKey: this.#entryKey, session: this.#session },
      transition(this.#releaseState, { type: 'drained' }),
      known,
    );
    // Begin the release before ending the watches: callers wait for the release alone.
    this.#own.end();
    this.#leaveSession();
    const released = await releasing;
    this.#releaseState = released;
    this.#letGo();
    telemetry.emit('released', { election, term: this.term });
    this.#onReleased(released, end);
    this.#released.resolve();
  }

  #explain(reason: LeadershipEndReason): LeadershipEnd {
    return { ...this.#session.report('deadline'), term: this.term, reason, lost: isLoss(reason), drainMs: 0 };
  }

  #error(end: LeadershipEnd): IncumbentError {
    return new IncumbentError('LEADERSHIP_ENDED', `leadership of "${this.#spec.election}" in term ${this.term} ended: ${end.reason}`, {
      details: { ...end },
    });
  }

  #overtaken(reason: LeadershipEndReason): unknown {
    this.#finish(reason);
    return this.signal.reason;
  }

  async #call<T>(task: (options: CallOptions) => Promise<T>, { signal }: SignalOptions): Promise<T> {
    const timeoutMs = this.#context.timing.callTimeoutMs;
    try {
      return await task(signal === undefined ? { timeoutMs } : { timeoutMs, signal });
    } catch (error) {
      // That a caller gave up says nothing of the store.
      if (signal?.aborted !== true) this.#session.note(error);
      throw error;
    }
  }

  /** The queue, as a handover reads it. */
  #queue(options: SignalOptions): LeaderQueue {
    const own = options.signal === undefined ? { signal: this.#session.call.signal } : options;
    const { election, keys, succession } = this.#spec;
    const list = (part?: Pick<ListOptions, 'first'>): Promise<readonly Entry[]> =>
      this.#call((call) => this.#context.store.list(keys.candidates, { ...call, ...part }), own);
    return { election, succession, leader: this.#entryKey, list };
  }
}
