/** A process that takes part in an election among the members themselves. */

import {
  type Cancel,
  type Clock,
  IncumbentError,
  isIncumbentError,
  type Logger,
  type Random,
  type SignalOptions,
  type StopSignal,
} from '@incumbent/core';
import {
  checkClock,
  checkFunction,
  checkKnown,
  checkLogger,
  checkName,
  checkRandom,
  checkSignal,
  endQuietly,
  explainDetached,
  hasMethods,
  keepAlive,
  invalidOption,
  invalidText,
  onStopSignal,
  orAborted,
  type ValueStream,
  Telemetry,
  withHandled,
} from '@incumbent/core/adapter';
import type { Algorithm, PeerMembership, PeerView, Position, Safety, TermOf } from './algorithm.ts';
import { CampaignRunner } from './campaign-runner.ts';
import type { Driver, FailureReason } from './driver.ts';
import type { PeerLeadership } from './leadership.ts';
import { Participant } from './participant.ts';
import type { RefusalReason } from './refusals.ts';
import type { DurableStorage } from './storage.ts';
import type { Transport } from './transport.ts';
import { Views } from './views.ts';

/** The options of a {@link PeerMember}. */
export interface PeerMemberOptions<S extends Safety> {
  /**
   * How to elect: `quorum(options)`, or by best effort `bully(options)` and so on. The same for all
   * members.
   */
  readonly algorithm: Algorithm<S>;
  readonly transport: Transport;
  /**
   * The id of this process: one of the algorithm's members, if it lists them. No other process may
   * have it.
   */
  readonly memberId: string;
  /** Where the member keeps its vote: `voteFile(path)`. `quorum` needs it. */
  readonly storage?: DurableStorage | undefined;
  /**
   * Returns how far this member's data reach. Called before each step; must answer at once. With
   * it, only a member whose data reach at least as far as those of a majority can lead. It must
   * include everything that was acknowledged to a leader, and once `highestTerm` has risen, nothing
   * of an older term may be acknowledged. If it throws or returns something else, the member ends
   * with `POSITION_UNKNOWN`. Default: all members' data reach equally far.
   */
  readonly position?: (() => Position) | undefined;
  /** Any object with debug, info, warn and error; a pino logger fits. Default: none. */
  readonly logger?: Logger | undefined;
  /** For tests and simulation. */
  readonly clock?: Clock | undefined;
  /** For tests and simulation. */
  readonly random?: Random | undefined;
}

const known = ['algorithm', 'transport', 'memberId', 'storage', 'position', 'logger', 'clock', 'random'];
const failures = {
  notWritten: ['VOTE_NOT_WRITTEN', 'could not save its vote'],
  positionUnknown: ['POSITION_UNKNOWN', 'could not learn how far its data reach'],
  joinFailed: ['JOIN_FAILED', 'found no members to join'],
} as const;
const NOWHERE: Position = { lastTerm: 0n, lastIndex: 0n };

/**
 * One member of a group that elects its leader by itself. The constructor does no I/O. Every member
 * must take part: members that do not campaign call `start()`, because they vote too.
 */
export class PeerMember<S extends Safety> {
  readonly memberId: string;
  /** What the leaderships of this member guarantee: see `Safety`. */
  readonly safety: S;

  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  readonly #views: Views<S>;
  readonly #participant: Participant<S>;
  readonly #campaigns: CampaignRunner<S>;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;
  /** Aborts when the close has ended. */
  readonly #closeEnded = new AbortController();

  static {
    explainDetached(PeerMember, 'member');
  }

  /**
   * Does no I/O.
   *
   * @throws {TypeError | RangeError} `INVALID_OPTION`; `INVALID_NAME` for the member id.
   */
  constructor(options: PeerMemberOptions<S>) {
    checkKnown('peer member', options, known);
    const { algorithm, transport, memberId, storage, position = () => NOWHERE } = options;
    checkFunction('position', position);
    this.memberId = checkName('memberId', memberId);
    if (!hasMethods(algorithm, 'start', 'step'))
      throw invalidOption('algorithm', algorithm, 'the result of quorum(), bully() or another one');
    if (!hasMethods(transport, 'open'))
      throw invalidOption('transport', transport, 'the transport of one election: new TcpTransport(options).election(name)');
    if (storage !== undefined && !hasMethods(storage, 'load', 'save', 'close'))
      throw invalidOption('storage', storage, 'a storage: voteFile(path)');
    const { members } = algorithm;
    if (members !== 'open' && !members.includes(memberId))
      throw invalidText('memberId', memberId, `one of the members: ${members.join(', ')}`);
    if (algorithm.persists && storage === undefined)
      throw invalidOption('storage', storage, `given, as ${algorithm.name} must not forget its votes: voteFile(path)`);
    this.safety = algorithm.safety;
    const clock = checkClock(options.clock);
    const random = checkRandom(options.random);
    const telemetry = new Telemetry(checkLogger(options.logger), { algorithm: algorithm.name, memberId });
    const views = new Views<S>((error) => telemetry.emit('subscriberFailed', { error }));
    const closing = this.#closing.signal;
    const campaigns = new CampaignRunner<S>({ memberId, clock, telemetry, closing, start: async () => this.#start() });
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.#views = views;
    this.#campaigns = campaigns;
    this.#participant = new Participant<S>({
      ...{ memberId, algorithm, transport, storage, position, clock, random, telemetry },
      callbacks: {
        elected: (driver, validity) => campaigns.take(driver, validity),
        ended: (reason, validity) => campaigns.finish(reason, validity),
        viewed: (view) => views.see(view),
        membership: (membership) => views.memberships.set(membership),
        failed: (why, error) => this.#fail(why, error),
      },
    });
  }

  /**
   * The leader, as far as this member knows. The view lags behind, and is never proof of
   * leadership.
   */
  get current(): PeerView<S> {
    return this.#views.current;
  }

  /** The leadership that this member holds now. */
  get leadership(): PeerLeadership<S> | undefined {
    return this.#campaigns.leadership;
  }

  /**
   * With an open membership: the members, as far as this one knows. Undefined before it has joined.
   * Lags behind.
   */
  get membership(): PeerMembership | undefined {
    return this.#views.memberships.value;
  }

  /**
   * With `quorum`: the newest term that this member knows, also one without a leader. Undefined
   * before it has started. Never falls while the process runs. A process that crashes while it
   * writes its vote may know a lower term after its restart: the term before that write. It has
   * sent no message of the lost term.
   */
  get highestTerm(): TermOf<S> | undefined {
    return this.#participant.highestTerm;
  }

  /** How many messages of other members were refused, by reason. */
  get refused(): Readonly<Record<RefusalReason, number>> {
    return this.#participant.refused;
  }

  /**
   * Takes part: votes, follows, and updates the views. Idempotent; `campaign` and `lead` call it
   * first. After a rejection, every later call rejects too.
   *
   * @throws `MEMBERS_CHANGED` if the vote was saved with a list of members that differs so much
   * that two members could be elected in one term. The error of the storage if the vote cannot be
   * read, and of the transport if it does not open. `MEMBER_CLOSED` when the member closes; this
   * rejection counts as handled, as that of `campaign` does.
   */
  start(): Promise<void> {
    return withHandled(this.#started(), (error) => this.#isClosed(error));
  }

  /**
   * Campaigns until elected. Keeps the process alive.
   *
   * @throws The signal's reason when it aborts. `MEMBER_CLOSED` when the member closes; a program
   * that does not await the campaign then goes on, as this rejection counts as handled.
   * `ALREADY_CAMPAIGNING` while this member campaigns or leads. `VOTE_NOT_WRITTEN` if a vote could
   * not be saved, `POSITION_UNKNOWN` if `position` threw, `JOIN_FAILED` if there is no member to
   * join. The errors of `start`.
   */
  campaign(options: SignalOptions = {}): Promise<PeerLeadership<S>> {
    return this.#campaigns.campaign(options);
  }

  /**
   * Campaigns, and runs `work` while this member leads. If the leadership is lost or handed over,
   * the leadership's signal aborts, the work is awaited, and the member campaigns again and calls
   * `work` again. When `work` returns, the member resigns and this resolves with its value. When it
   * throws, the member resigns with the reason `workFailed` and this rejects. Work that throws a
   * fence's `STALE_TERM` has met a newer term: the leadership is lost (`termBehind`), and the
   * member campaigns for a higher term. When `signal` aborts, the work drains and the member
   * resigns first. Resolves with undefined when the member closes, and if it has been closed.
   *
   * @throws The errors of `work`, and those of `campaign` except for `MEMBER_CLOSED`.
   */
  async lead<T>(work: (leadership: PeerLeadership<S>) => Promise<T> | T, options: SignalOptions = {}): Promise<T | undefined> {
    checkFunction('work', work);
    return this.#campaigns.lead(work, checkSignal(options));
  }

  /**
   * Yields the present view, and the latest view after every change. Ends without an error when the
   * signal aborts or the member closes. Keeps the process alive.
   *
   * @throws The errors of `start`, and those with which a member ends: `VOTE_NOT_WRITTEN`,
   *   `POSITION_UNKNOWN`, `JOIN_FAILED`.
   */
  views(options: SignalOptions = {}): AsyncGenerator<PeerView<S>, void, undefined> {
    return this.#follow(this.#views.leaders, options);
  }

  /**
   * Yields the present membership, and the latest one after every change, like `views`. Always
   * undefined if the members are listed.
   */
  memberships(options: SignalOptions = {}): AsyncGenerator<PeerMembership | undefined, void, undefined> {
    return this.#follow(this.#views.memberships, options);
  }

  /**
   * Call this before serving a client. It knows no more than `membership`: between a partition and
   * its detection it does not throw.
   *
   * @throws `NOT_ENOUGH_MEMBERS` unless this member belongs to an open membership that is large
   * enough for a leader.
   */
  assertEnoughMembers(): void {
    const { membership } = this;
    if (membership?.isEnough === true) return;
    const count = membership?.members.length ?? 0;
    throw new IncumbentError('NOT_ENOUGH_MEMBERS', `the member "${this.memberId}" knows of ${count} members, which is not enough to lead`);
  }

  /**
   * Calls `subscriber` with the present view and after every change. An error that it throws is
   * reported to telemetry and has no other effect. Does not start the member.
   */
  subscribe(subscriber: (view: PeerView<S>) => void): Cancel {
    checkFunction('subscriber', subscriber);
    return this.#views.leaders.subscribe(subscriber);
  }

  /**
   * Calls `shutdown()` when the process receives one of these signals, as `shutdownOn` of
   * `@incumbent/core` does.
   *
   * @throws `INVALID_OPTION` for anything but the names of signals that ask a process to stop.
   */
  shutdownOn(...signals: readonly StopSignal[]): void {
    onStopSignal(signals, { clock: this.#clock, closed: this.#closeEnded.signal, stop: () => void this.shutdown() });
  }

  /**
   * Resigns and takes part no more. Idempotent. Takes as long as the drain, at most, and 2 s longer
   * if the storage hangs.
   */
  async close(): Promise<void> {
    await this.#closeOnce((leadership) => leadership.resignWhenDrained('memberClosed'));
  }

  /**
   * Hands the leadership over to the best candidate, or resigns if there is none, and closes.
   * Idempotent. Takes as long as `close()`. `handover: false` is the same as `close()`.
   *
   * @throws {TypeError | RangeError} `INVALID_OPTION`
   */
  async shutdown(options: { readonly handover?: 'next' | false } = {}): Promise<void> {
    checkKnown('shutdown', options, ['handover']);
    const { handover = 'next' } = options;
    if (![false, 'next'].includes(handover)) throw invalidOption('handover', handover, "'next' or false");
    await (handover === false ? this.close() : this.#closeOnce((leadership) => leadership.transferOrResign()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #follow<T>(latest: ValueStream<T>, options: SignalOptions): AsyncGenerator<T, void, undefined> {
    return latest.iterate(options, async () => {
      try {
        await orAborted(this.#started(), options.signal);
      } catch (error) {
        // Then the views end without an error.
        if (options.signal?.aborted !== true && !this.#isClosed(error)) throw error;
      }
      return this.#clock.keepAlive();
    });
  }

  /** Rejects as soon as the member closes. */
  async #started(): Promise<void> {
    await orAborted(this.#start(), this.#closing.signal);
  }

  #isClosed(error: unknown): boolean {
    return error === this.#closing.signal.reason && isIncumbentError(error, 'MEMBER_CLOSED');
  }

  async #closeOnce(endLeadership: (leadership: PeerLeadership<S>) => Promise<void>): Promise<void> {
    await keepAlive(this.#clock, () => (this.#closed ??= this.#close(endLeadership).finally(() => endQuietly(this.#closeEnded))));
  }

  async #close(endLeadership: (leadership: PeerLeadership<S>) => Promise<void>): Promise<void> {
    this.#views.end();
    this.#closing.abort(new IncumbentError('MEMBER_CLOSED', `the member "${this.memberId}" was closed`));
    await this.#campaigns.close(endLeadership);
    await this.#participant.leave();
  }

  async #start(): Promise<Driver<S>> {
    this.#closing.signal.throwIfAborted();
    return this.#participant.start();
  }

  /** Ends the member. It must send nothing more: it may not have saved what it sent last. */
  #fail(reason: FailureReason, cause: unknown): void {
    this.#telemetry.emit('peerFailed', { reason, ...(cause === undefined ? {} : { error: cause }) });
    const [code, what] = failures[reason];
    const why = cause instanceof Error ? `: ${cause.message}` : '';
    const error = new IncumbentError(code, `the member "${this.memberId}" ${what}, and takes part no more${why}`, { cause });
    this.#views.end({ error });
    this.#closing.abort(error);
  }
}
