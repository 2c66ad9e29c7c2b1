/** The handle that a leader holds for one term. */

import type { Won } from './candidate.ts';
import type { Cancel } from './clock.ts';
import type { PayloadCodec } from './codec.ts';
import { IncumbentError, isPassing, outcomeOf } from './errors.ts';
import type { ElectionKeys } from './keys.ts';
import { invalidOption } from './options.ts';
import { readLeader, writeLeader } from './record.ts';
import { Release } from './release.ts';
import type { Session, SessionContext } from './session.ts';
import type { CallOptions, Change, Entry, Key, Revision, SwapResult } from './store.ts';
import { inSuccession, readName, type Succession } from './succession.ts';
import type { Self } from './swaps.ts';
import { advance, isLoss, type Heir, type LeadershipEnd, type LeadershipEndReason, type Tenure } from './tenure.ts';
import { KeyWatch, sleep } from './waits.ts';

/** What an election hands to its leadership. */
export interface LeadershipContext<V> extends SessionContext {
  readonly election: string;
  readonly keys: ElectionKeys;
  readonly self: Self;
  readonly succession: Succession;
  readonly codec: PayloadCodec<V>;
  readonly session: Session;
  readonly won: Won;
  /** The watch on its own entry, from the candidacy. */
  readonly own: KeyWatch;
}

/** Options of a leader's calls to the store. */
export interface LeaderCallOptions {
  readonly signal?: AbortSignal;
}

/** @internal What a member needs of a leadership, whatever it publishes. */
export type Held = Pick<
  Leadership<never>,
  'term' | 'ended' | 'released' | 'drained' | 'isValid' | 'close' | 'giveUp' | 'passOn' | 'preferred'
>;

const RESERVED = /^(elections|members|groups)\//;

/**
 * One term in office. While `isValid()` says so, no other member of this election believes that it leads (see the guarantees for what that
 * rests on); every write through it is refused by the store once another has been elected, whatever this process believes.
 */
export class Leadership<V = unknown> {
  /** This leadership's number: from 1, higher than that of any leadership before. Send it along with everything the leader does. */
  readonly term: bigint;
  readonly memberId: string;
  /** Aborts when belief ends. Its reason is an `IncumbentError` with the code `LEADERSHIP_ENDED`, and the `LeadershipEnd` as `details`. */
  readonly signal: AbortSignal;
  /** Resolves when belief ends, with the reason. Never rejects. */
  readonly ended: Promise<LeadershipEnd>;
  /** Resolves when the drain is over and the store holds nothing of this term any more, or all of it goes with the lease. Never rejects. */
  readonly released: Promise<void>;

  readonly #context: LeadershipContext<V>;
  readonly #session: Session;
  readonly #abort = new AbortController();
  readonly #end = Promise.withResolvers<LeadershipEnd>();
  readonly #drained = Promise.withResolvers<void>();
  readonly #done = Promise.withResolvers<Extract<Tenure, { phase: 'released' }>>();
  readonly #stopped = new AbortController();
  readonly #works = new Set<Promise<unknown>>();
  /** The work that `lead` runs. */
  #ownWork: Promise<unknown> | undefined;
  readonly #record: KeyWatch;
  readonly #offSession: Cancel;
  readonly #letGo: Cancel;
  #tenure: Tenure = { phase: 'leading' };
  #leaderRevision: Revision;
  #payload: Promise<void> = Promise.resolve();

  /** @internal */
  constructor(context: LeadershipContext<V>) {
    this.#context = context;
    this.#session = context.session;
    this.term = context.won.term;
    this.memberId = context.self.memberId;
    this.signal = this.#abort.signal;
    this.ended = this.#end.promise;
    this.released = this.#done.promise.then(() => {});
    this.#leaderRevision = context.won.leaderRevision;
    this.#letGo = context.clock.hold();
    this.#record = new KeyWatch(context.store, context.keys.leader);
    this.#offSession = this.#session.onEnd((end) => this.#finish(end.reason));
    this.#record.onNews(() => this.#seeRecord());
    context.own.onNews(() => this.#seeEntry());
  }

  /**
   * Whether this leadership certainly stands: synchronous, and true only while the store vouches for the lease with time left to stop. It reads
   * the clocks on each call, so a paused process is never told a stale true. Once false, always false.
   */
  isValid(): boolean {
    return this.#tenure.phase === 'leading' && this.#session.isValid();
  }

  /** How long it stays valid if no renewal succeeds any more, in ms; 0 when it has ended. */
  remainingMs(): number {
    return this.#tenure.phase === 'leading' ? this.#session.remainingMs() : 0;
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
    return { key: this.#context.keys.term, expect: this.#context.won.termRevision };
  }

  /**
   * A fenced write in the store: these changes and the guard, all or nothing. Rejects with `LEADERSHIP_ENDED` when another has the term, and as
   * `compareAndSwap` does; an `unknown` outcome is the caller's to resolve.
   */
  async swap(changes: readonly Change[], options: LeaderCallOptions = {}): Promise<SwapResult> {
    for (const { key } of changes) {
      if (RESERVED.test(key)) throw invalidOption('key', key, 'outside elections/, members/ and groups/, which the SDK keeps');
    }
    this.assertValid();
    const result = await this.#call((call) => this.#context.store.compareAndSwap([this.guard(), ...changes], call), options);
    if (result.swapped) return { swapped: true, revisions: result.revisions.slice(1) };
    if (result.failed.some(({ index }) => index === 0)) throw this.#overtaken('recordReplaced');
    return { swapped: false, failed: result.failed.map(({ index, current }) => ({ index: index - 1, current })) };
  }

  /** Changes the value that this leader publishes, within its term. Resolves when observers can see it. */
  async publish(value: V, options: LeaderCallOptions = {}): Promise<void> {
    const payload = this.#context.codec.encode(value);
    const { won, self, keys } = this.#context;
    const put = writeLeader({ term: won.term, ...self, entry: won.entry.key, payload });
    const turn = this.#payload.then(() => this.#writeRecord({ key: keys.leader, put }, options));
    this.#payload = turn.catch(() => {});
    return turn;
  }

  /**
   * Keeps the drain open until the promise settles, `drainMs` at most. `lead` does this for its work. A leadership without any is drained at once
   * when it is given up, and for the whole of `drainMs`, or until `resign()` says that the work has stopped, when it is lost.
   */
  waitUntil(work: Promise<unknown>): void {
    void this.#keepOpen(work);
  }

  /** @internal The work of `lead`: waited for like any other, but when the work itself resigns or hands over. */
  runs(work: Promise<unknown>): void {
    this.#ownWork = this.#keepOpen(work);
  }

  /** Tells of a term that a fence has seen. Newer than this one: leadership ends as `termBehind`, and the next claim takes a newer one still. */
  reportTerm(seen: bigint): void {
    if (typeof seen !== 'bigint') throw invalidOption('seen', seen, 'a bigint: the term that the fence has seen');
    if (seen > this.term) this.#finish('termBehind', { seenTerm: seen });
  }

  /**
   * Gives leadership up; the next candidate follows at once. It is the work's own word that it has stopped: nothing is waited for but what
   * `waitUntil` was given. Resolves when the store has it, or has let the lease go. Idempotent; on a lost leadership it ends the drain.
   */
  async resign(): Promise<void> {
    this.#stopped.abort();
    this.#excuseOwnWork();
    await this.giveUp();
  }

  /** @internal The same, at somebody else's wish: the work of `lead` is told, and waited for. */
  async giveUp(): Promise<void> {
    this.#finish('resigned');
    await this.released;
  }

  /**
   * Gives leadership up in favour of a candidate: of this member id, or the next in succession. Rejects with `NO_SUCH_CANDIDATE`, and leadership
   * goes on, if there is none. Then belief ends, what `waitUntil` was given drains, and one swap passes the term on; if the store refuses that,
   * leadership has ended as if by resigning, and this rejects with `HANDOVER_FAILED`. Like `resign`, it is the work's own word.
   */
  async handover(memberId?: string, options: LeaderCallOptions = {}): Promise<void> {
    await this.#handOver(memberId, options, () => this.#excuseOwnWork());
  }

  /** @internal The same, at somebody else's wish: the work of `lead` is told, and waited for. */
  async passOn(memberId?: string): Promise<void> {
    await this.#handOver(memberId, {}, () => {});
  }

  async #handOver(memberId: string | undefined, options: LeaderCallOptions, atEnd: () => void): Promise<void> {
    this.assertValid();
    const heir = await this.#findHeir(memberId, options);
    this.assertValid();
    atEnd();
    this.#finish('handover', {}, heir);
    const { failedHeir } = await this.#done.promise;
    if (failedHeir) throw new IncumbentError('HANDOVER_FAILED', `the store did not take the handover to "${heir.memberId}"`, {
        details: { memberId: heir.memberId, incarnation: heir.incarnation },
      });
  }

  /** @internal Ends it because its member closes. */
  close(): void {
    this.#finish('memberClosed');
  }

  /** @internal Resolves when the drain is over: not before may the lease be revoked. */
  get drained(): Promise<void> {
    return this.#drained.promise;
  }

  /** @internal Whether another candidate goes before this leader by the order of succession. */
  async preferred(): Promise<string | undefined> {
    const [first] = inSuccession(await this.#queue({}), this.#context.succession);
    return first === undefined || first.entry.key === this.#context.won.entry.key ? undefined : first.memberId;
  }

  #keepOpen(work: Promise<unknown>): Promise<unknown> {
    const settled = work.then(
      () => {},
      () => {},
    );
    this.#works.add(settled);
    void settled.then(() => this.#works.delete(settled));
    return settled;
  }

  /** Work that waits for its own end to be waited for would wait for ever. */
  #excuseOwnWork(): void {
    if (this.#ownWork !== undefined) this.#works.delete(this.#ownWork);
  }

  #seeRecord(): void {
    const news = this.#record.take();
    if (news === undefined) return this.#noteWatch(this.#record);
    if (news.entry === undefined) this.#finish('recordDeleted');
    else if (!this.#isMine(news.entry)) this.#finish('recordReplaced');
  }

  #isMine(record: Entry): boolean {
    try {
      const { entry, term } = readLeader(record);
      return entry === this.#context.won.entry.key && term === this.term;
    } catch {
      return false;
    }
  }

  #seeEntry(): void {
    const news = this.#context.own.take();
    if (news === undefined) return this.#noteWatch(this.#context.own);
    if (news.entry === undefined) this.#finish('entryDeleted');
  }

  /** A watch that cannot go on ends no leadership: the lease decides. */
  #noteWatch({ failure }: KeyWatch): void {
    if (failure !== undefined) this.#context.telemetry.emit('watchStale', { election: this.#context.election, cause: failure.error });
  }

  /** The one way out: everything up to the drain happens here, synchronously and in this order. */
  #finish(reason: LeadershipEndReason, facts: { readonly seenTerm?: bigint } = {}, heir?: Heir): void {
    if (this.#tenure.phase !== 'leading') return;
    this.#tenure = advance(this.#tenure, heir === undefined ? { type: 'end', reason } : { type: 'end', reason, heir });
    const end = { ...this.#explain(reason), ...facts };
    const until = Math.min(this.#context.clock.monotonic() + this.#context.timing.drainMs, this.#session.safeUntil);
    this.#record.stop();
    this.#context.own.stop();
    this.#offSession();
    this.#abort.abort(this.#error(end));
    this.#end.resolve(end);
    this.#context.telemetry.emit('ended', { election: this.#context.election, ...end });
    void this.#release(until, end);
  }

  async #release(until: number, end: LeadershipEnd): Promise<void> {
    await this.#drain(until, end);
    this.#drained.resolve();
    const over = new AbortController();
    const off = this.#session.onEnd(() => over.abort());
    const release = new Release({ ...this.#context, over: over.signal }, this.#leaderRevision);
    const released = await release.run(advance(this.#tenure, { type: 'drained' }));
    off();
    this.#tenure = released;
    this.#letGo();
    this.#context.telemetry.emit('released', { election: this.#context.election, term: this.term });
    this.#done.resolve(released);
  }

  async #drain(until: number, end: LeadershipEnd): Promise<void> {
    const leftMs = until - this.#context.clock.monotonic();
    if (this.#works.size === 0 && !end.lost) return;
    const over = new AbortController();
    const stop = (): void => over.abort();
    if (this.#works.size > 0) void Promise.all(this.#works).then(stop);
    else if (this.#stopped.signal.aborted) return;
    else this.#stopped.signal.addEventListener('abort', stop, { once: true });
    if (leftMs > 0) await sleep(this.#context.clock, leftMs, over.signal);
    if (this.#works.size > 0) this.#context.telemetry.emit('stuck', { election: this.#context.election, term: this.term });
  }

  #explain(reason: LeadershipEndReason): LeadershipEnd {
    return { ...this.#session.report('deadline'), term: this.term, reason, lost: isLoss(reason) };
  }

  #error(end: LeadershipEnd): IncumbentError {
    return new IncumbentError('LEADERSHIP_ENDED', `leadership of "${this.#context.election}" in term ${this.term} ended: ${end.reason}`, {
      details: { ...end },
    });
  }

  #overtaken(reason: LeadershipEndReason): unknown {
    this.#finish(reason);
    return this.signal.reason;
  }

  async #call<T>(task: (options: CallOptions) => Promise<T>, { signal }: LeaderCallOptions): Promise<T> {
    const timeoutMs = this.#context.timing.callTimeoutMs;
    try {
      return await task(signal === undefined ? { timeoutMs } : { timeoutMs, signal });
    } catch (error) {
      this.#session.note(error);
      throw error;
    }
  }

  /** Writes the record until it is certainly there; each try is conditional on the revision that this leader knows. */
  async #writeRecord(change: { readonly key: Key; readonly put: Uint8Array }, options: LeaderCallOptions): Promise<void> {
    for (;;) {
      this.assertValid();
      options.signal?.throwIfAborted();
      if (await this.#tryWrite(change, options)) return;
      await sleep(this.#context.clock, this.#context.timing.retryEveryMs, options.signal);
    }
  }

  async #tryWrite(change: { readonly key: Key; readonly put: Uint8Array }, options: LeaderCallOptions): Promise<boolean> {
    const swap = [this.guard(), { ...change, expect: this.#leaderRevision }];
    try {
      const result = await this.#call((call) => this.#context.store.compareAndSwap(swap, call), options);
      if (!result.swapped) return this.#adopt(await this.#call((call) => this.#context.store.read(change.key, call), options), change.put);
      this.#leaderRevision = result.revisions[1] ?? this.#leaderRevision;
      return true;
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (outcomeOf(error) !== 'unknown') return false;
      const current = await this.#call((call) => this.#context.store.read(change.key, call), options).catch(() => null);
      return current === null ? false : this.#adopt(current, change.put);
    }
  }

  /** The record is not at the revision that I knew: an earlier try of mine was applied after all, or it is no longer mine. */
  #adopt(current: Entry | undefined, put: Uint8Array): boolean {
    if (current === undefined) throw this.#overtaken('recordDeleted');
    if (!this.#isMine(current)) throw this.#overtaken('recordReplaced');
    this.#leaderRevision = current.revision;
    return sameBytes(current.value, put);
  }

  async #queue(options: LeaderCallOptions): Promise<readonly Entry[]> {
    return this.#call((call) => this.#context.store.list(this.#context.keys.candidates, call), options);
  }

  async #findHeir(memberId: string | undefined, options: LeaderCallOptions): Promise<Heir> {
    const others = (await this.#queue(options)).filter(({ key }) => key !== this.#context.won.entry.key);
    const heirs = inSuccession(others, this.#context.succession);
    const heir = memberId === undefined ? heirs[0] : heirs.find((candidate) => candidate.memberId === memberId);
    if (heir !== undefined) return { entry: heir.entry, memberId: heir.memberId, incarnation: heir.incarnation };
    const whom = memberId === undefined ? 'nobody else' : `"${memberId}", who is not a candidate`;
    throw new IncumbentError('NO_SUCH_CANDIDATE', `leadership of "${this.#context.election}" cannot be handed over to ${whom}`, {
      details: { memberId, candidates: others.map(({ name }) => readName(name)?.memberId) },
    });
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
