/** One member's part in an election: campaigns, leadership, and the queue. */

import { checkSignal, onAbort, orAborted, type SignalOptions, withHandled } from '../async/abort.ts';
import type { Semaphore } from '../async/semaphore.ts';
import { keepAlive, sleep } from '../async/sleep.ts';
import type { Cancel } from '../base/clock.ts';
import { explainDetached } from '../base/methods.ts';
import { IncumbentError } from '../base/errors.ts';
import { fraction } from '../base/random.ts';
import { checkFunction, checkKnown } from '../base/validate.ts';
import { KnownTerms } from '../campaign/known-terms.ts';
import { type CampaignResult, type Elected, CampaignRunner, type CampaignRunnerContext } from '../campaign/runner.ts';
import type { ElectionSpec } from '../leadership/successor-finder.ts';
import { Leadership, type ManagedLeadership } from '../leadership/leadership.ts';
import { releaseOrphan } from '../leadership/release-machine.ts';
import { release } from '../leadership/release.ts';
import type { GetSession } from '../lease/session-pool.ts';
import type { LeaseSession, SessionContext } from '../lease/session.ts';
import { candidateViews, type CandidateView } from '../observer/observer.ts';
import { electionKeys } from '../protocol/keys.ts';
import { checkRecordSize } from '../protocol/record-size.ts';
import { type Payload, readCandidate, readLeader, readTerm } from '../protocol/record.ts';
import { checkSuccessionOption, inSuccession, type Succession, writeName } from '../protocol/succession.ts';
import { checkFloor } from '../protocol/terms.ts';
import { electedFields, type MemberIdentity } from '../protocol/transactions.ts';
import { payloadCodec } from '../protocol/value-codec.ts';
import type { Key } from '../store/contract.ts';
import { checkStrength, ElectionListeners, type ElectionOptions, electionOptions } from './election-options.ts';
import { beginAfterCampaign, checkLeadOptions, type LeadContext, type LeadOptions, leadOneTerm, leadUntilDone } from './lead.ts';
import { type OrphanCleaner, OwnEntries } from './orphan-cleaner.ts';

/** @internal What a member passes to its elections and groups. */
export interface ElectionContext extends SessionContext {
  readonly self: MemberIdentity;
  readonly semaphore: Semaphore;
  readonly orphanCleaner: OrphanCleaner;
  /** Aborts when the member closes. */
  readonly closing: AbortSignal;
  readonly onLeading: (leadership: ManagedLeadership, session: LeaseSession, succession: Succession) => void;
  /** Called when the leadership is released. */
  readonly onReleased: (leadership: ManagedLeadership) => void;
  /** Resolves when the closing member has ended its lease, or at once while work drains. */
  readonly memberClosed: () => Promise<undefined>;
}

type WaitMode = CampaignRunnerContext['wait'];

/** A running call of `campaign`, `lead` or `tryLead`. */
interface Run {
  readonly signal: AbortSignal | undefined;
}

/**
 * One election, as one member takes part in it. Create it with `member.election(name)`. Runs one
 * campaign at a time.
 */
export class Election<V = unknown> {
  /** The name of the election. */
  readonly name: string;
  readonly #context: ElectionContext;
  readonly #getSession: GetSession;
  readonly #spec: ElectionSpec<V>;
  readonly #value: V | undefined;
  readonly #listeners: ElectionListeners<V>;
  readonly #terms: KnownTerms;
  #attempts = 0;
  #run: Run | undefined;
  #lastCampaign: Promise<void> = Promise.resolve();
  #leadership: Leadership<V> | undefined;
  /** The work of `lead` that runs, or is stuck. */
  #work: Promise<unknown> | undefined;
  readonly #entries: OwnEntries;

  static {
    explainDetached(Election, 'election');
  }

  /** @internal */
  constructor(context: ElectionContext, getSession: GetSession, name: string, options: ElectionOptions<V>) {
    checkKnown('election', options, electionOptions);
    this.#context = context;
    this.#getSession = getSession;
    this.name = name;
    const [codec, succession] = [payloadCodec(options), checkSuccessionOption(options.succession)];
    this.#spec = { election: name, keys: electionKeys(name), succession, codec, onSeenTerm: (seen) => this.#terms.raiseFloor(seen) };
    this.#entries = new OwnEntries(context, this.#spec.keys);
    this.#value = options.value;
    this.#listeners = new ElectionListeners(name, options, context.telemetry);
    // Throws for a value that cannot be encoded, before any call to the store.
    codec.encode(options.value);
    this.#terms = new KnownTerms(checkFloor('minTerm', options.minTerm === undefined ? 1n : options.minTerm) - 1n);
    checkStrength(context.store, name, options.acceptWeakStore);
  }

  /** The present leadership of this member; undefined if there is none that is valid. */
  get leadership(): Leadership<V> | undefined {
    return this.#leadership?.isValid() === true ? this.#leadership : undefined;
  }

  /**
   * Calls `listener` each time this member is elected, as the option `onElected` is called, until
   * the returned function is called.
   *
   * @throws `INVALID_OPTION` unless the listener is a function.
   */
  onElected(listener: (leadership: Leadership<V>) => unknown): Cancel {
    return this.#listeners.add(listener);
  }

  /**
   * Campaigns until this member is elected. Retries while the store is unreachable. Keeps the
   * process alive.
   *
   * @throws The signal's reason if it aborts. `MEMBER_CLOSED` when the member closes: it counts as
   *   handled, so it does not end a program that does not await the campaign.
   *   `ALREADY_CAMPAIGNING` while a campaign runs or a leadership is held. `INVALID_OPTION`, before
   *   any call to the store, if the leader's record with this value exceeds the store's
   *   `maxValueBytes`. Errors that a retry does not solve: `UNAUTHENTICATED`, `PERMISSION_DENIED`,
   *   `FOREIGN_DATA`, `NEWER_FORMAT`, `DUPLICATE_MEMBER`, `SUCCESSION_MISMATCH`, `LEASE_TOO_SHORT`,
   *   `TERMS_EXHAUSTED`, `STORE_CLOSED`, and other errors for which `isRetryable` is false.
   */
  campaign(options: SignalOptions = {}): Promise<Leadership<V>> {
    const campaign = this.#campaign(options);
    // An orderly stop must not end a program that does not await its campaigns.
    const elected = withHandled(campaign, (error) => this.#isClosing(error));
    beginAfterCampaign(this.#leadContext, campaign);
    return elected;
  }

  /**
   * Campaigns, and runs `work` while this member leads. After a loss or a handover, aborts the
   * leadership's signal, awaits the work, campaigns again, and calls `work` again with a new term.
   *
   * With `once`, the work is called once: a loss or a handover rejects with `LEADERSHIP_ENDED`.
   *
   * Work that returns resigns; this resolves with its value. Work that throws resigns; this rejects
   * with its error, unless `retry` accepts the error, by default one of a store that was away: then
   * the member campaigns again. Work that throws a fence's `STALE_TERM` has met a newer term: the
   * leadership is lost (`termBehind`), and the member campaigns for a higher term. Aborting the
   * signal drains the work, resigns, and rejects. What the work throws after it has lost its
   * leadership, or was told to stop, goes to the event `workFailed`.
   *
   * Resolves with undefined when the member has closed, so that the store may be closed next. In
   * the work of another `lead` of this member, resolves while that work drains.
   *
   * @throws As `campaign` does, except for `MEMBER_CLOSED`, and as the work does.
   */
  async lead<T>(work: (leadership: Leadership<V>) => Promise<T> | T, options: LeadOptions = {}): Promise<T | undefined> {
    checkFunction('work', work);
    const terms = checkLeadOptions(options);
    const { signal } = terms;
    return this.#runLead(signal, () => leadUntilDone(this.#leadContext, work, () => this.#elect(signal), terms));
  }

  /**
   * Runs `work` if this member is elected at once, and resolves with the value of the work after
   * resigning. Resolves with undefined, without running the work, if the work would have to wait:
   * another member leads, or another candidate is first. Of several members that try at the same
   * time, the first in the queue leads. As that one may be leaving the queue, undefined does not
   * prove that somebody leads.
   *
   * While another member leads, a try costs one read and leaves no trace in the store. The former
   * process of a member that was restarted counts as another until its lease ends. Waits only for
   * this member's own former term to be released. Resolves with undefined, too, if work of that
   * term still runs then.
   *
   * Work that returns nothing also yields undefined, as does a member that closes. Return a value
   * from the work to learn whether it has run: `(await election.tryLead(run)) !== undefined`.
   *
   * The work runs for one term at most: if its term ends first, this rejects with
   * `LEADERSHIP_ENDED` once the work has stopped. Aborting the signal drains the work, resigns, and
   * rejects.
   *
   * @throws As `lead` with `once` does, and also a store error that a retry may solve, until this
   *   member leads. Only the opening of the member's lease is retried until the signal aborts.
   */
  async tryLead<T>(work: (leadership: Leadership<V>) => Promise<T> | T, options: SignalOptions = {}): Promise<T | undefined> {
    checkFunction('work', work);
    const signal = checkSignal(options);
    return this.#runLead(signal, () => leadOneTerm(this.#leadContext, work, () => this.#elect(signal, 'never'), signal));
  }

  /**
   * Reads the candidates in the order of succession, the leader first, by two linearizable reads.
   *
   * @throws The error of a read, the signal's reason, `FOREIGN_DATA`, or `NEWER_FORMAT`.
   */
  async candidates(options: SignalOptions = {}): Promise<readonly CandidateView<V>[]> {
    const signal = checkSignal(options);
    const { store, timing } = this.#context;
    const call = { timeoutMs: timing.callTimeoutMs, signal };
    // One after the other, so that no call is in flight when one fails.
    const queue = await store.list(this.#spec.keys.candidates, call);
    const term = await store.read(this.#spec.keys.term, call);
    const { codec, succession } = this.#spec;
    return candidateViews(inSuccession(queue, succession), term && readTerm(term), (entry) =>
      codec.decode(readCandidate(entry).payload, entry.key),
    );
  }

  /** @internal Resolves when no campaign of this election has anything under way. */
  async campaignsEnded(): Promise<void> {
    await this.#lastCampaign;
  }

  async #campaign(options: SignalOptions): Promise<Leadership<V>> {
    const signal = checkSignal(options);
    return keepAlive(this.#context.clock, () => this.#runAlone(signal, () => this.#elect(signal)));
  }

  /** True for the error with which calls reject because the member closes. */
  #isClosing(error: unknown): boolean {
    const { closing } = this.#context;
    return closing.aborted && error === closing.reason;
  }

  /** Runs a call of `lead` or `tryLead`. The end of the member is no error. */
  async #runLead<T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T | undefined> {
    return keepAlive(this.#context.clock, async () => {
      try {
        return await this.#runAlone(signal, task);
      } catch (error) {
        if (!this.#isClosing(error)) throw error;
        return this.#context.memberClosed();
      }
    });
  }

  /** Runs a call of `campaign`, `lead` or `tryLead`. Throws if another one runs. */
  async #runAlone<T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> {
    const run = this.#beginRun(signal);
    try {
      return await task();
    } finally {
      if (this.#run === run) this.#run = undefined;
    }
  }

  /** One campaign at a time. After an abort, another may start: it waits for the first to end. */
  #beginRun(signal: AbortSignal | undefined): Run {
    if (this.#context.closing.aborted) throw this.#context.closing.reason;
    const running = this.#run !== undefined && this.#run.signal?.aborted !== true;
    if (running || this.leadership !== undefined) {
      throw new IncumbentError('ALREADY_CAMPAIGNING', `this member already campaigns for "${this.name}", or leads it`);
    }
    // Throws for a value that is too large, before any call to the store.
    this.#payload();
    this.#run = { signal };
    return this.#run;
  }

  /**
   * Resolves with a leadership, or rejects when the caller gives up. Gives up a leadership that
   * comes later. With `never`, resolves with undefined if this member would have to wait.
   */
  #elect(signal: AbortSignal | undefined): Promise<Leadership<V>>;
  #elect(signal: AbortSignal | undefined, wait: 'never'): Promise<Leadership<V> | undefined>;
  async #elect(signal: AbortSignal | undefined, wait: WaitMode = 'untilElected'): Promise<Leadership<V> | undefined> {
    const { closing } = this.#context;
    signal?.throwIfAborted();
    const halt = new AbortController();
    const stops = [onAbort(signal, () => halt.abort(signal?.reason)), onAbort(closing, () => halt.abort(closing.reason))];
    const answer = Promise.withResolvers<Leadership<V> | undefined>();
    onAbort(halt.signal, () => answer.reject(halt.signal.reason));
    const elected = async (leadership: Leadership<V> | undefined): Promise<void> => {
      if (leadership === undefined) return answer.resolve(undefined);
      if (halt.signal.aborted) await leadership.resignWhenDrained();
      else answer.resolve(leadership);
    };
    this.#lastCampaign = this.#lastCampaign.then(() => this.#untilElected(halt.signal, wait)).then(elected, answer.reject);
    try {
      return await answer.promise;
    } finally {
      for (const stop of stops) stop();
    }
  }

  async #untilElected(halt: AbortSignal, wait: WaitMode): Promise<Leadership<V> | undefined> {
    for (;;) {
      halt.throwIfAborted();
      if (wait === 'never' && (await this.#wouldWait(halt))) return undefined;
      const former = this.#leadership;
      await orAborted(Promise.all([former?.released.then(() => former.drain.leadSettled()), this.#work]), halt);
      const session = await this.#getSession(halt);
      const { name, outcome } = await this.#campaignOnce(session, halt, wait);
      if (outcome.why !== 'elected') this.#entries.discard(name);
      switch (outcome.why) {
        case 'elected': {
          const leadership = this.#becomeLeader(outcome, name, session);
          if (leadership !== undefined) return leadership;
          break;
        }
        case 'stopped':
          halt.throwIfAborted();
          return undefined;
        case 'failed':
          this.#entries.scheduleCleanup(session);
          throw outcome.error;
        case 'orphaned': {
          const context = { ...this.#context, keys: this.#spec.keys, entryKey: outcome.entry.key, session };
          const { left } = await release(context, releaseOrphan);
          if (left) this.#entries.scheduleCleanup(session);
          await this.#pauseBriefly(halt);
          break;
        }
        case 'sessionLost':
        case 'removed':
          await this.#pauseBriefly(halt);
          break;
        default:
          return outcome satisfies never;
      }
    }
  }

  /** Whether another member leads, or work of this member has outlived its own term. */
  async #wouldWait(halt: AbortSignal): Promise<boolean> {
    const { store, self, semaphore, timing } = this.#context;
    const call = { timeoutMs: timing.callTimeoutMs, signal: halt };
    const record = await semaphore.run(() => store.read(this.#spec.keys.leader, call));
    if (record !== undefined && readLeader(record).incarnation !== self.incarnation) return true;
    if (this.#leadership !== undefined) await orAborted(this.#leadership.released, halt);
    return this.#work !== undefined || this.#leadership?.drain.hasLeadWork === true;
  }

  get #leadContext(): LeadContext {
    const { telemetry, closing, clock, random, timing } = this.#context;
    const workBegins = (work: Promise<unknown>): void => {
      this.#work = work.then(() => void (this.#work = undefined));
    };
    return { election: this.name, telemetry, closing, clock, random, timing, workBegins };
  }

  #entryName(attempt: number): string {
    const [{ self }, { succession }] = [this.#context, this.#spec];
    const rank = succession.rank({ election: this.name, memberId: self.memberId });
    return writeName({ ...self, attempt, succession: succession.id, rank });
  }

  /** The value to publish. Throws if it does not fit the leader's record of any attempt. */
  #payload(): Payload {
    const payload = this.#spec.codec.encode(this.#value);
    const { store, self } = this.#context;
    checkRecordSize(store, self, `${this.#spec.keys.candidates}/${this.#entryName(Number.MAX_SAFE_INTEGER)}`, payload);
    return payload;
  }

  /** For a random time, so that candidates that lost their place together return one by one. */
  async #pauseBriefly(halt: AbortSignal): Promise<void> {
    const { random, clock, timing } = this.#context;
    await sleep(clock, (fraction(random) * timing.ttlMs) / 20, halt);
  }

  async #campaignOnce(session: LeaseSession, halt: AbortSignal, wait: WaitMode): Promise<{ name: string; outcome: CampaignResult }> {
    this.#attempts += 1;
    const name = this.#entryName(this.#attempts);
    const { termSource, revisionInSwap } = this.#context.store.capabilities;
    const { keys, succession } = this.#spec;
    const rules = { keys, succession, termsFromClock: termSource === 'clock', revisionInSwap };
    this.#entries.use(name);
    const onOtherEntry = (key: Key): void => this.#entries.seen(key, session);
    const campaign = { election: this.name, rules, terms: this.#terms, payload: this.#payload(), name, halt, wait, onOtherEntry };
    const runner = new CampaignRunner({ ...this.#context, ...campaign }, session);
    const outcome = await runner.run();
    if (runner.enqueueUnknown && outcome.why !== 'elected') this.#entries.scheduleCleanup(session);
    return { name, outcome };
  }

  /**
   * Makes the leadership of a campaign that was won. Returns none, and emits no `elected`, if the
   * session ended while the claim was in flight.
   */
  #becomeLeader({ won, entryWatch, enqueueUnknown }: Elected, name: string, session: LeaseSession): Leadership<V> | undefined {
    if (!session.isValid()) {
      entryWatch.end();
      this.#context.telemetry.emit('left', { election: this.name, key: won.entry.key, why: 'sessionLost' });
      this.#entries.discard(name);
      return undefined;
    }
    // A logger may end the session during this call. The leadership below then emits `ended`.
    this.#context.telemetry.emit('elected', { election: this.name, ...electedFields(won), lease: session.lease });
    const leadership: Leadership<V> = new Leadership(this.#context, this.#spec, {
      session,
      won,
      entryWatch,
      onOtherEntry: (key) => this.#entries.seen(key, session),
      onReleased: ({ left }) => {
        this.#entries.discard(name);
        if (left || enqueueUnknown) this.#entries.scheduleCleanup(session);
        this.#context.onReleased(leadership);
      },
    });
    this.#leadership = leadership;
    this.#context.onLeading(leadership, session, this.#spec.succession);
    this.#listeners.tell(leadership);
    return leadership;
  }
}
