/** A process that takes part in an election among the members themselves. */

import { type Cancel, type Clock, IncumbentError, type Logger, type Random, systemClock, systemRandom } from '@incumbent/core';
import {
  checkFunction,
  checkKnown,
  checkLogger,
  checkName,
  checkSignal,
  keepAlive,
  invalidOption,
  invalidText,
  type ValueStream,
  Telemetry,
} from '@incumbent/core/adapter';
import type { Algorithm, PeerMembership, PeerView, Position, Safety, TermOf } from './algorithm.ts';
import { Candidacy } from './candidacy.ts';
import type { Driver, FailureReason } from './driver.ts';
import type { PeerLeadership } from './leadership.ts';
import { Participant } from './participant.ts';
import type { RefusalReason } from './refusals.ts';
import type { DurableStorage } from './storage.ts';
import type { Transport } from './transport.ts';
import { Views } from './views.ts';

export interface PeerMemberOptions<S extends Safety> {
  /** How to elect: `quorum(options)`, or one by best effort: `bully(options)` and so on. The same for all members. */
  readonly algorithm: Algorithm<S>;
  readonly transport: Transport;
  /** Who this process is: one of the algorithm's members, if it lists them, and the only process that is. */
  readonly memberId: string;
  /** Where its vote is kept: `voteFile(path)`. Needed by `quorum`. */
  readonly storage?: DurableStorage;
  /**
   * How far this member's data reach: asked before each step, and answered at once. With it, only a member leads that reaches at least as far as a
   * majority. Whatever was acknowledged to a leader must be in it, and after `highestTerm` has risen nothing of an older term may be acknowledged.
   * One that throws, or answers with something else, ends the member. Default: all reach equally far.
   */
  readonly position?: () => Position;
  /** Anything with debug, info, warn and error: pino fits. */
  readonly logger?: Logger;
  /** For tests and simulation. */
  readonly clock?: Clock;
  /** For tests and simulation. */
  readonly random?: Random;
}

export interface PeerCallOptions {
  readonly signal?: AbortSignal;
}

const known = ['algorithm', 'transport', 'memberId', 'storage', 'position', 'logger', 'clock', 'random'];
const failures = {
  notWritten: ['VOTE_NOT_WRITTEN', 'could not write down its vote'],
  positionUnknown: ['POSITION_UNKNOWN', 'was not told how far its data reach'],
  joinFailed: ['JOIN_FAILED', 'found no members to join'],
} as const;
const NOWHERE: Position = { lastTerm: 0n, lastIndex: 0n };

/**
 * One member of a group that elects its leader by itself. The constructor does no I/O. Every member must run, by `start()` if it does not campaign:
 * those that do not campaign vote all the same.
 */
export class PeerMember<S extends Safety> {
  readonly memberId: string;
  /** What its leaderships are worth. */
  readonly safety: S;

  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  readonly #views: Views<S>;
  readonly #participant: Participant<S>;
  readonly #candidacy: Candidacy<S>;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  constructor(options: PeerMemberOptions<S>) {
    checkKnown('peer member', options, known);
    const { algorithm, transport, memberId, storage, position = () => NOWHERE } = options;
    checkFunction('position', position);
    this.memberId = checkName('memberId', memberId);
    const { members } = algorithm;
    if (members !== 'open' && !members.includes(memberId))
      throw invalidText('memberId', memberId, `one of the members: ${members.join(', ')}`);
    if (algorithm.persists && storage === undefined)
      throw invalidOption('storage', storage, `given, as ${algorithm.name} must not forget its votes: voteFile(path)`);
    this.safety = algorithm.safety;
    const clock = options.clock ?? systemClock;
    const random = options.random ?? systemRandom;
    const telemetry = new Telemetry(checkLogger(options.logger), { algorithm: algorithm.name, memberId });
    const views = new Views<S>((error) => telemetry.emit('subscriberFailed', { error }));
    const closing = this.#closing.signal;
    const candidacy = new Candidacy<S>({ memberId, clock, telemetry, closing, start: async () => this.#start() });
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.#views = views;
    this.#candidacy = candidacy;
    this.#participant = new Participant<S>({
      ...{ memberId, algorithm, transport, storage, position, clock, random, telemetry },
      told: {
        elected: (driver, belief) => candidacy.take(driver, belief),
        ended: (reason, belief) => candidacy.finish(reason, belief),
        viewed: (view) => views.see(view),
        membership: (membership) => views.memberships.set(membership),
        failed: (why, error) => this.#fail(why, error),
      },
    });
  }

  /** Who leads, as far as this member has heard. It lags behind, and is never proof of leadership. */
  get current(): PeerView<S> {
    return this.#views.current;
  }

  /** The leadership that this member holds now. */
  get leadership(): PeerLeadership<S> | undefined {
    return this.#candidacy.leadership;
  }

  /** With an open membership: who takes part, as far as this member has heard; undefined while it has not joined. It lags behind. */
  get membership(): PeerMembership | undefined {
    return this.#views.memberships.value;
  }

  /** With `quorum`: the newest term that this member knows of, led or not; undefined before it has started. Never goes back, over restarts as well. */
  get highestTerm(): TermOf<S> | undefined {
    return this.#participant.highestTerm;
  }

  /** How many messages of others were refused, for each reason. */
  get refused(): Readonly<Record<RefusalReason, number>> {
    return this.#participant.refused;
  }

  /**
   * Takes part: votes, follows, shows views. Rejects, now and ever after, where what was kept cannot be read, or the transport does not open; with
   * `MEMBERS_CHANGED` where the vote was kept among so many other members that two could be elected in one term. Idempotent;
   * `campaign` and `lead` do it first.
   */
  async start(): Promise<void> {
    await this.#start();
  }

  /**
   * Stands for election until elected. Rejects with the signal's reason when it aborts; with `MEMBER_CLOSED`; with `ALREADY_CAMPAIGNING` while a campaign
   * runs or a leadership is held; with `VOTE_NOT_WRITTEN` once a vote could not be written down, `POSITION_UNKNOWN` once `position` has thrown, or `JOIN_FAILED` where there is nobody to join; and as `start` does. Keeps the
   * process alive.
   */
  async campaign(options: PeerCallOptions = {}): Promise<PeerLeadership<S>> {
    return this.#candidacy.campaign(checkSignal(options));
  }

  /**
   * Campaigns, and runs `work` for as long as it leads. If leadership is lost or handed over, the work's signal aborts, its end is awaited, and it
   * campaigns again: `work` is called anew. Work that returns resigns, and this resolves with its value; work that throws resigns, and this rejects.
   * Rejects as `campaign` does besides; aborting the signal drains the work and resigns first.
   */
  async lead<T>(work: (leadership: PeerLeadership<S>) => Promise<T> | T, options: PeerCallOptions = {}): Promise<T> {
    checkFunction('work', work);
    return this.#candidacy.lead(work, checkSignal(options));
  }

  /** The view now, and the latest after every change. Ends quietly when the signal aborts or the member closes. Keeps the process alive. */
  async *views(options: PeerCallOptions = {}): AsyncGenerator<PeerView<S>, void, undefined> {
    yield* this.#follow(this.#views.leaders, options);
  }

  /** The membership now, and the latest after every change; as `views` does. Always undefined where the members are listed. */
  async *memberships(options: PeerCallOptions = {}): AsyncGenerator<PeerMembership | undefined, void, undefined> {
    yield* this.#follow(this.#views.memberships, options);
  }

  /**
   * Throws `NOT_ENOUGH_MEMBERS` unless this member takes part in an open membership that is large enough to lead: to be asked before a client is served. It knows no more
   * than `membership`: between a split and its detection it does not throw.
   */
  assertEnoughMembers(): void {
    const { membership } = this;
    if (membership?.isEnough === true) return;
    const count = membership?.members.length ?? 0;
    throw new IncumbentError('NOT_ENOUGH_MEMBERS', `the member "${this.memberId}" knows of ${count} members, which is not enough to lead`);
  }

  /** The same as a callback, with the view now first; one that throws harms nobody. It does not start the member. */
  subscribe(subscriber: (view: PeerView<S>) => void): Cancel {
    checkFunction('subscriber', subscriber);
    return this.#views.leaders.subscribe(subscriber);
  }

  /** Resigns, and takes part no more. Idempotent; bounded by the drain. */
  async close(): Promise<void> {
    await this.#over((leadership) => leadership.giveUp('memberClosed'));
  }

  /**
   * For SIGTERM: hands leadership over to the fittest that campaigns, or resigns where there is none, then closes. Idempotent; bounded by the drain. `handover: false`
   * is the same as `close()`.
   */
  async shutdown(options: { readonly handover?: 'next' | false } = {}): Promise<void> {
    checkKnown('shutdown', options, ['handover']);
    const { handover = 'next' } = options;
    if (![false, 'next'].includes(handover)) throw invalidOption('handover', handover, "'next' or false");
    await (handover === false ? this.close() : this.#over((leadership) => leadership.passOn()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async *#follow<T>(latest: ValueStream<T>, options: PeerCallOptions): AsyncGenerator<T, void, undefined> {
    const signal = checkSignal(options);
    await this.#start();
    const letGo = this.#clock.keepAlive();
    try {
      yield* latest.values(signal);
    } finally {
      letGo();
    }
  }

  async #over(giveUp: (leadership: PeerLeadership<S>) => Promise<void>): Promise<void> {
    await keepAlive(this.#clock, () => (this.#closed ??= this.#close(giveUp)));
  }

  async #close(giveUp: (leadership: PeerLeadership<S>) => Promise<void>): Promise<void> {
    this.#end(new IncumbentError('MEMBER_CLOSED', `the member "${this.memberId}" was closed`));
    await this.#candidacy.giveUp(giveUp);
    await this.#participant.leave();
  }

  #end(reason: unknown): void {
    this.#views.end();
    this.#closing.abort(reason);
  }

  async #start(): Promise<Driver<S>> {
    this.#closing.signal.throwIfAborted();
    return this.#participant.start();
  }

  /** It must not say anything any more: what it said last may not have been written down. */
  #fail(why: FailureReason, cause: unknown): void {
    this.#telemetry.emit('peerFailed', { reason: why, ...(cause === undefined ? {} : { error: cause }) });
    const [code, what] = failures[why];
    this.#end(new IncumbentError(code, `the member "${this.memberId}" ${what}, and takes part no more`, { cause }));
  }
}
