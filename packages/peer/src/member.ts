/** A process that takes part in an election among the members themselves. */

import {
  type Cancel,
  checkFunction,
  checkKnown,
  checkName,
  type Clock,
  IncumbentError,
  invalidOption,
  type Logger,
  type Random,
  systemClock,
  systemRandom,
} from '@incumbent/core';
import { checkLogger, checkSignal, held, Latest, momentOf, orAborted, Telemetry } from '@incumbent/core/parts';
import type { Algorithm, Belief, PeerMembership, PeerView, Position, Safety, TermOf } from './algorithm.ts';
import { Driver, type Written } from './driver.ts';
import { PeerLeadership } from './leadership.ts';
import { Refusals, type RefusalReason } from './refusals.ts';
import type { DurableStorage } from './storage.ts';
import type { Found, Frame, Link, Transport } from './transport.ts';
import { begin, isEnd, served, unwrap } from './work.ts';

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
   * Default: all reach equally far.
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

  readonly #algorithm: Algorithm<S>;
  readonly #transport: Transport;
  readonly #storage: DurableStorage | undefined;
  readonly #position: () => Position;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #telemetry: Telemetry;
  readonly #refusals: Refusals<RefusalReason>;
  readonly #views: Latest<PeerView<S>>;
  readonly #memberships: Latest<PeerMembership | undefined>;
  readonly #closing = new AbortController();
  #starting: Promise<Driver<S>> | undefined;
  #link: Link | undefined;
  #campaign: { readonly signal: AbortSignal | undefined } | undefined;
  #elected: ((leadership: PeerLeadership<S>) => void) | undefined;
  #leadership: PeerLeadership<S> | undefined;
  /** The latest work of `lead`: settled, or under way, or stuck. */
  #work: Promise<unknown> = Promise.resolve();
  /** Resolves when no campaign is under way. */
  #winding: Promise<void> = Promise.resolve();
  #driver: Driver<S> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: PeerMemberOptions<S>) {
    checkKnown('peer member', options, known);
    const { algorithm, transport, memberId, storage, position = () => NOWHERE } = options;
    checkFunction('position', position);
    this.memberId = checkName('memberId', memberId);
    const { members } = algorithm;
    if (members !== 'open' && !members.includes(memberId))
      throw invalidOption('memberId', memberId, `one of the members: ${members.join(', ')}`);
    if (algorithm.persists && storage === undefined)
      throw invalidOption('storage', storage, `given, as ${algorithm.name} must not forget its votes: voteFile(path)`);
    this.safety = algorithm.safety;
    this.#algorithm = algorithm;
    this.#transport = transport;
    this.#storage = storage;
    this.#position = position;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#telemetry = new Telemetry(checkLogger(options.logger), { algorithm: algorithm.name, memberId });
    this.#refusals = new Refusals(this.#telemetry, 'messageRefused', { unknownMember: 0, configuration: 0, malformed: 0 });
    const failed = (error: unknown): void => this.#telemetry.emit('subscriberFailed', { error });
    this.#views = new Latest(failed);
    this.#views.set({ state: 'unknown' });
    this.#memberships = new Latest(failed);
    this.#memberships.set(undefined);
  }

  /** Who leads, as far as this member has heard. It lags behind, and is never proof of leadership. */
  get current(): PeerView<S> {
    return this.#views.value ?? { state: 'unknown' };
  }

  /** The leadership that this member holds now. */
  get leadership(): PeerLeadership<S> | undefined {
    return this.#leadership?.isValid() === true ? this.#leadership : undefined;
  }

  /** With an open membership: who takes part, as far as this member has heard; undefined while it has not joined. It lags behind. */
  get membership(): PeerMembership | undefined {
    return this.#memberships.value;
  }

  /** With `quorum`: the newest term that this member knows of, led or not; undefined before it has started. Never goes back, over restarts as well. */
  get highestTerm(): TermOf<S> | undefined {
    return this.#driver?.highestTerm;
  }

  /** How many messages of others were refused, for each reason. */
  get refused(): Readonly<Record<RefusalReason, number>> {
    return this.#refusals.counts;
  }

  /**
   * Takes part: votes, follows, shows views. Rejects, now and ever after, where what was kept cannot be read, or the transport does not open. Idempotent;
   * `campaign` and `lead` do it first.
   */
  async start(): Promise<void> {
    await this.#start();
  }

  /**
   * Stands for election until elected. Rejects with the signal's reason when it aborts; with `MEMBER_CLOSED`; with `ALREADY_CAMPAIGNING` while a campaign
   * runs or a leadership is held; with `VOTE_NOT_WRITTEN` once a vote could not be written down, or `JOIN_FAILED` where there is nobody to join; and as `start` does. Keeps the
   * process alive.
   */
  async campaign(options: PeerCallOptions = {}): Promise<PeerLeadership<S>> {
    const signal = checkSignal(options);
    return this.#alone(signal, () => this.#elect(signal));
  }

  /**
   * Campaigns, and runs `work` for as long as it leads. If leadership is lost or handed over, the work's signal aborts, its end is awaited, and it
   * campaigns again: `work` is called anew. Work that returns resigns, and this resolves with its value; work that throws resigns, and this rejects.
   * Rejects as `campaign` does besides; aborting the signal drains the work and resigns first.
   */
  async lead<T>(work: (leadership: PeerLeadership<S>) => Promise<T> | T, options: PeerCallOptions = {}): Promise<T> {
    checkFunction('work', work);
    const signal = checkSignal(options);
    return this.#alone(signal, async () => {
      for (;;) {
        const done = await this.#tenure(work, await this.#elect(signal), signal);
        if (done !== undefined) return done.value;
      }
    });
  }

  /** The view now, and the latest after every change. Ends quietly when the signal aborts or the member closes. Keeps the process alive. */
  async *views(options: PeerCallOptions = {}): AsyncGenerator<PeerView<S>, void, undefined> {
    yield* this.#follow(this.#views, options);
  }

  /** The membership now, and the latest after every change; as `views` does. Always undefined where the members are listed. */
  async *memberships(options: PeerCallOptions = {}): AsyncGenerator<PeerMembership | undefined, void, undefined> {
    yield* this.#follow(this.#memberships, options);
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
    return this.#views.subscribe(subscriber);
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

  async *#follow<T>(latest: Latest<T>, options: PeerCallOptions): AsyncGenerator<T, void, undefined> {
    const signal = checkSignal(options);
    await this.#start();
    const letGo = this.#clock.hold();
    try {
      yield* latest.values(signal);
    } finally {
      letGo();
    }
  }

  async #over(giveUp: (leadership: PeerLeadership<S>) => Promise<void>): Promise<void> {
    await held(this.#clock, () => (this.#closed ??= this.#close(giveUp)));
  }

  async #close(giveUp: (leadership: PeerLeadership<S>) => Promise<void>): Promise<void> {
    this.#end(new IncumbentError('MEMBER_CLOSED', `the member "${this.memberId}" was closed`));
    if (this.#leadership !== undefined) await giveUp(this.#leadership);
    const driver = await this.#starting?.catch(() => {});
    driver?.command({ type: 'leave' });
    driver?.stop();
    await this.#link?.close();
    await this.#storage?.close();
  }

  #end(reason: unknown): void {
    this.#view({ state: 'unknown' });
    this.#memberships.set(undefined);
    this.#closing.abort(reason);
    this.#views.end();
    this.#memberships.end();
  }

  async #start(): Promise<Driver<S>> {
    this.#closing.signal.throwIfAborted();
    this.#starting ??= this.#begin();
    return this.#starting;
  }

  async #begin(): Promise<Driver<S>> {
    const saved = await this.#storage?.load();
    const durable = saved === undefined ? undefined : this.#algorithm.readDurable(saved);
    const now = momentOf(this.#clock);
    const state = this.#algorithm.start({ memberId: this.memberId, now, seed: this.#random.u32(), durable });
    const driver: Driver<S> = new Driver(this.#algorithm, state, {
      clock: this.#clock,
      position: this.#position,
      send: (to, message, at) => this.#send(to, message, at),
      persist: (kept, done) => void this.#persist(kept, done),
      elected: (belief) => this.#take(driver, belief),
      ended: (reason, belief) => this.#leadership?.finish(reason, belief),
      viewed: (view) => this.#view(view),
      membership: (membership) => this.#memberships.set(membership),
      failed: (why, error) => this.#fail(why, error),
    });
    this.#driver = driver;
    const { members } = this.#algorithm;
    const seat = { memberId: this.memberId, receive: (from: string, frame: Frame): void => this.#receive(driver, from, frame) };
    const found: Found = (self, seeds) => driver.command({ type: 'seeds', self, seeds });
    this.#link = await this.#transport.open(members === 'open' ? { ...seat, members, found } : { ...seat, members });
    return driver;
  }

  #send(to: string, message: unknown, at?: string): void {
    const { configuration } = this.#algorithm;
    this.#link?.send(to, { configuration, message }, this.#algorithm.sortOf(message), at);
  }

  /** Nobody may be believed who is not listed, runs with another configuration, or says what no member would say. */
  #receive(driver: Driver<S>, from: string, frame: Frame): void {
    const { members } = this.#algorithm;
    if ((members !== 'open' && !members.includes(from)) || from === this.memberId) return this.#refusals.add('unknownMember', { from });
    if (frame.configuration !== this.#algorithm.configuration)
      return this.#refusals.add('configuration', { from, theirs: frame.configuration, ours: this.#algorithm.configuration });
    const message = this.#algorithm.readMessage(frame.message);
    return message === undefined ? this.#refusals.add('malformed', { from }) : driver.receive(from, message);
  }

  async #persist(durable: unknown, done: (written: Written) => void): Promise<void> {
    try {
      await this.#storage?.save(durable);
    } catch (error) {
      return done({ ok: false, error });
    }
    return done({ ok: true });
  }

  #view(view: PeerView<S>): void {
    const { current } = this;
    const isSame =
      view.state === 'leader' && current.state === 'leader'
        ? view.memberId === current.memberId && view.term === current.term && view.round === current.round
        : view.state === current.state;
    if (!isSame) this.#views.set(view);
  }

  /** It must not say anything any more: what it said last may not have been written down. */
  #fail(why: 'notWritten' | 'joinFailed', cause: unknown): void {
    this.#telemetry.emit('peerFailed', { reason: why, ...(cause === undefined ? {} : { error: cause }) });
    const [code, what] = failures[why];
    this.#end(new IncumbentError(code, `the member "${this.memberId}" ${what}, and takes part no more`, { cause }));
  }

  #take(driver: Driver<S>, belief: Belief<S>): void {
    const leadership = new PeerLeadership<S>({ memberId: this.memberId, driver, clock: this.#clock, telemetry: this.#telemetry, belief });
    this.#leadership = leadership;
    if (leadership.isValid()) this.#telemetry.emit('elected', { term: leadership.term, round: leadership.round });
    if (this.#elected === undefined) void leadership.resign();
    else this.#elected(leadership);
  }

  /** One campaign at a time; but whoever has aborted one may begin another at once. */
  async #alone<T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> {
    this.#closing.signal.throwIfAborted();
    const isRunning = this.#campaign !== undefined && this.#campaign.signal?.aborted !== true;
    if (isRunning || this.leadership !== undefined)
      throw new IncumbentError('ALREADY_CAMPAIGNING', `the member "${this.memberId}" already campaigns, or leads`);
    const campaign = { signal };
    this.#campaign = campaign;
    try {
      return await held(this.#clock, task);
    } finally {
      if (this.#campaign === campaign) this.#campaign = undefined;
    }
  }

  /** The campaign before is over by then, its leadership released, and its work has stopped. */
  async #elect(signal: AbortSignal | undefined): Promise<PeerLeadership<S>> {
    const driver = await this.#unless(signal, this.#start());
    await this.#unless(signal, this.#winding);
    for (;;) {
      await this.#unless(signal, Promise.all([this.#leadership?.released, this.#work]));
      const leadership = await this.#stand(driver, signal);
      // It may have ended in the moment since it was elected.
      if (leadership.isValid()) return leadership;
    }
  }

  async #stand(driver: Driver<S>, signal: AbortSignal | undefined): Promise<PeerLeadership<S>> {
    const [elected, over] = [Promise.withResolvers<PeerLeadership<S>>(), Promise.withResolvers<void>()];
    this.#winding = over.promise;
    this.#elected = elected.resolve;
    driver.command({ type: 'campaign' });
    try {
      return await this.#unless(signal, elected.promise);
    } catch (error) {
      driver.command({ type: 'withdraw' });
      void elected.promise.then((leadership) => leadership.resign());
      throw error;
    } finally {
      this.#elected = undefined;
      over.resolve();
    }
  }

  /** One leadership of `lead`; undefined when it is to campaign again. */
  async #tenure<T>(
    work: (leadership: PeerLeadership<S>) => Promise<T> | T,
    leadership: PeerLeadership<S>,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly value: T } | undefined> {
    const result = begin(work, leadership);
    this.#work = result;
    const reason = await served(leadership, result, signal);
    // Work that is stuck keeps this member from campaigning, but not its caller from giving up.
    const settled = await this.#unless(signal, result);
    if (reason === 'resigned') return unwrap(settled);
    if ('error' in settled && !isEnd(settled.error)) this.#telemetry.emit('workFailed', { term: leadership.term, error: settled.error });
    return undefined;
  }

  /** Settles as the promise does; unless the signal aborts, or the member ends, before. */
  async #unless<T>(signal: AbortSignal | undefined, promise: Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    this.#closing.signal.throwIfAborted();
    return orAborted(orAborted(promise, this.#closing.signal), signal);
  }
}
