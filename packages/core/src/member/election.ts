/** A named contest, as one member sees it. */

import { Candidacy, type Outcome } from '../campaign/runner.ts';
import { payloadCodec, type ValueOptions } from '../protocol/value-codec.ts';
import { IncumbentError, isIncumbentError } from '../base/errors.ts';
import type { Ghosts } from './orphan-cleaner.ts';
import { electionKeys } from '../protocol/keys.ts';
import { type Contest, type Held, Leadership } from '../leadership/leadership.ts';
import { checkFunction, checkKnown, checkSignal } from '../base/validate.ts';
import { fraction } from '../base/random.ts';
import { checkRecordSize } from '../protocol/record-size.ts';
import { type Payload, readCandidate, readLeader, readTerm, tryRead } from '../protocol/record.ts';
import { release } from '../leadership/release.ts';
import type { Session, SessionContext } from '../lease/session.ts';
import { endQuietly, onAbort, orAborted } from '../async/abort.ts';
import type { Key } from '../store/contract.ts';
import { checkSuccessionOption, inSuccession, writeName, type Succession } from '../protocol/succession.ts';
import type { Self } from '../protocol/transactions.ts';
import { sweep } from '../leadership/release-machine.ts';
import { checkFloor, MAX_FLOOR } from '../protocol/terms.ts';
import { sleep, type Lane } from '../async/sleep.ts';

export interface ElectionOptions<V> extends ValueOptions<V> {
  /** What this member publishes when it leads: JSON, unless there is a codec. */
  readonly value?: V;
  /** Who follows whom; the same for all candidates. Default `firstComeFirstServed()`. */
  readonly succession?: Succession;
  /**
   * Terms begin no lower than this: for an election that takes over from another system, or whose
   * store lost its data. From 1n to `2n ** 61n`. Default 1n.
   */
  readonly firstTerm?: bigint;
  /** The `name` of a store that is not linearizable, to say that its weaker promise is understood. */
  readonly acceptWeakStore?: string;
}

export interface CampaignOptions {
  /** Gives up: the campaign, or the leadership that came of it by `lead`. */
  readonly signal?: AbortSignal;
}

/** Somebody in the queue. */
export interface CandidateView<V> {
  readonly memberId: string;
  readonly incarnation: string;
  /** What the succession ranks by; empty for most. */
  readonly rank: string;
  /** What it would publish. */
  readonly value: V | undefined;
  readonly leads: boolean;
}

/** @internal What a member lends to its elections. */
export interface ElectionContext extends SessionContext {
  readonly self: Self;
  readonly lane: Lane;
  readonly ghosts: Ghosts;
  /** Aborts when the member closes. */
  readonly closing: AbortSignal;
  readonly session: (signal: AbortSignal) => Promise<Session>;
  readonly took: (leadership: Held, session: Session, succession: Succession) => void;
  /** It is released. */
  readonly left: (leadership: Held) => void;
}

const known = ['value', 'succession', 'firstTerm', 'acceptWeakStore', 'parse', 'codec'];

/** A call of `campaign` or `lead` that is under way. */
interface Run {
  readonly signal: AbortSignal | undefined;
}

/** Made by `member.election(name)`. One campaign at a time. */
export class Election<V = unknown> {
  readonly name: string;
  readonly #context: ElectionContext;
  readonly #contest: Contest<V>;
  readonly #value: V | undefined;
  #termFloor: bigint;
  #attempts = 0;
  #run: Run | undefined;
  #winding: Promise<void> = Promise.resolve();
  #leadership: Leadership<V> | undefined;
  /** The latest work of `lead`: settled, or under way, or stuck. */
  #work: Promise<unknown> = Promise.resolve();
  /** Names of the entries that this member campaigns or leads with. Whatever else of its own is in the queue is a ghost. */
  #inUse: readonly string[] = [];

  /** @internal */
  constructor(context: ElectionContext, name: string, options: ElectionOptions<V>) {
    checkKnown('election', options, known);
    this.#context = context;
    this.name = name;
    const [codec, succession] = [payloadCodec(options), checkSuccessionOption(options.succession)];
    this.#contest = { election: name, keys: electionKeys(name), succession, codec };
    this.#value = options.value;
    codec.encode(options.value);
    this.#termFloor = checkFloor('firstTerm', options.firstTerm === undefined ? 1n : options.firstTerm) - 1n;
    checkStrength(context, name, options.acceptWeakStore);
  }

  /** The leadership that this member holds now. */
  get leadership(): Leadership<V> | undefined {
    return this.#leadership?.isValid() === true ? this.#leadership : undefined;
  }

  /**
   * Tries until elected. Rejects with the signal's reason when it aborts; with `MEMBER_CLOSED`; with `ALREADY_CAMPAIGNING` while a campaign runs or
   * a leadership is held; with `INVALID_OPTION`, before the store is asked, where the leader's record with its value would exceed the store's
   * `maxValueBytes`; and on what trying again does not mend: bad credentials, missing permission, foreign data, a duplicate member,
   * `TERMS_EXHAUSTED`. An unreachable store is waited for. Keeps the process alive.
   */
  async campaign(options: CampaignOptions = {}): Promise<Leadership<V>> {
    const signal = checkSignal(options);
    const run = this.#begin(signal);
    try {
      const leadership = await this.#elect(signal);
      // The caller is told two turns from now.
      queueMicrotask(() => queueMicrotask(() => leadership.watch()));
      return leadership;
    } finally {
      if (this.#run === run) this.#run = undefined;
    }
  }

  /**
   * Campaigns, and runs `work` for as long as it leads. If leadership is lost or handed over, the work's signal aborts, its end is awaited, and it
   * campaigns again: `work` is called anew, with a new term. Work that returns resigns, and this resolves with its value; work that throws resigns,
   * and this rejects; but work that throws a fence's `STALE_TERM` has met a newer term: that is a loss (`termBehind`), and it campaigns again for a newer
   * term still. Rejects as `campaign` does besides; aborting the signal drains the work and resigns first.
   */
  async lead<T>(work: (leadership: Leadership<V>) => Promise<T> | T, options: CampaignOptions = {}): Promise<T> {
    checkFunction('work', work);
    const signal = checkSignal(options);
    const run = this.#begin(signal);
    const letGo = this.#context.clock.hold();
    try {
      for (;;) {
        const done = await this.#term(work, await this.#elect(signal), signal);
        if (done !== undefined) return done.value;
      }
    } finally {
      letGo();
      if (this.#run === run) this.#run = undefined;
    }
  }

  /** Who is in the queue, in the order of succession, the leader first. A linearizable read. */
  async candidates(options: CampaignOptions = {}): Promise<readonly CandidateView<V>[]> {
    const signal = checkSignal(options);
    const { store, timing } = this.#context;
    const call = signal === undefined ? { timeoutMs: timing.callTimeoutMs } : { timeoutMs: timing.callTimeoutMs, signal };
    // One after the other: when one fails, nothing is under way any more.
    const queue = await store.list(this.#contest.keys.candidates, call);
    const term = await store.read(this.#contest.keys.term, call);
    const holder = term === undefined ? undefined : readTerm(term).entry;
    const views = inSuccession(queue, this.#contest.succession).map(({ entry, memberId, incarnation, rank }) => {
      const value = this.#contest.codec.decode(readCandidate(entry).payload);
      return { memberId, incarnation, rank, value, leads: entry.key === holder };
    });
    return views.toSorted((a, b) => Number(b.leads) - Number(a.leads));
  }

  /** @internal Resolves when no campaign of this election has anything under way. */
  async settled(): Promise<void> {
    await this.#winding;
  }

  /** One at a time; but whoever has aborted one may begin another at once, which then waits for the first to be over. */
  #begin(signal: AbortSignal | undefined): Run {
    if (this.#context.closing.aborted) throw this.#context.closing.reason;
    const running = this.#run !== undefined && this.#run.signal?.aborted !== true;
    if (running || this.leadership !== undefined) {
      throw new IncumbentError('ALREADY_CAMPAIGNING', `this member already campaigns for "${this.name}", or leads it`);
    }
    this.#payload();
    this.#run = { signal };
    return this.#run;
  }

  /** One term of `lead`; undefined when it is to campaign again. */
  async #term<T>(
    work: (leadership: Leadership<V>) => Promise<T> | T,
    leadership: Leadership<V>,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly value: T } | undefined> {
    const stop = onAbort(signal, () => void leadership.giveUp());
    if (!leadership.isValid()) {
      // It ended in the moment since it was elected: there is nothing to begin.
      await leadership.released;
      stop();
      return undefined;
    }
    // Told of before it begins: it may bring its own end about in its first breath.
    const { promise: result, resolve } = Promise.withResolvers<Result<T>>();
    this.#work = result;
    leadership.runs(result);
    void settle(work, leadership).then(resolve);
    leadership.watch();
    await Promise.race([result, leadership.ended]);
    if (leadership.isValid()) await this.#afterWork(await result, leadership);
    const { reason } = await leadership.ended;
    await leadership.released;
    stop();
    // Work that is stuck keeps this member from campaigning, but not its caller from giving up.
    const settled = await this.#unlessGivenUp(result, signal);
    if (reason === 'resigned') return unwrap(settled);
    if ('error' in settled && !isEnd(settled.error)) {
      this.#context.telemetry.emit('workFailed', { election: this.name, term: leadership.term, error: settled.error });
    }
    return undefined;
  }

  async #unlessGivenUp<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const { closing } = this.#context;
    signal?.throwIfAborted();
    closing.throwIfAborted();
    return orAborted(orAborted(promise, closing), signal);
  }

  /** Work that is over while it leads resigns; unless a fence told it that its term is behind: that is a loss. */
  async #afterWork(result: Result<unknown>, leadership: Leadership<V>): Promise<void> {
    if ('error' in result && isIncumbentError(result.error, 'STALE_TERM')) {
      const { seen } = result.error.details;
      if (typeof seen === 'bigint' && seen > leadership.term && seen <= MAX_FLOOR) leadership.reportTerm(seen);
    }
    if (leadership.isValid()) await leadership.resign();
  }

  /** Settles once: with a leadership, or as the caller gave up. A leadership that comes after that is given up in its turn. */
  async #elect(signal: AbortSignal | undefined): Promise<Leadership<V>> {
    const { clock, closing } = this.#context;
    signal?.throwIfAborted();
    const halt = new AbortController();
    const letGo = clock.hold();
    const stops = [onAbort(signal, () => halt.abort(signal?.reason)), onAbort(closing, () => halt.abort(closing.reason))];
    const answer = Promise.withResolvers<Leadership<V>>();
    onAbort(halt.signal, () => answer.reject(halt.signal.reason));
    const elected = async (leadership: Leadership<V>): Promise<void> => {
      this.#leadership = leadership;
      if (halt.signal.aborted) await leadership.giveUp();
      else answer.resolve(leadership);
    };
    this.#winding = this.#winding.then(() => this.#untilElected(halt.signal)).then(elected, answer.reject);
    try {
      return await answer.promise;
    } finally {
      letGo();
      for (const stop of stops) stop();
    }
  }

  async #untilElected(halt: AbortSignal): Promise<Leadership<V>> {
    for (;;) {
      halt.throwIfAborted();
      await orAborted(Promise.all([this.#leadership?.released, this.#work]), halt);
      const session = await this.#context.session(halt);
      const { name, outcome } = await this.#candidacy(session, halt);
      if (outcome.why !== 'elected') this.#discard(name);
      switch (outcome.why) {
        case 'elected': {
          const leadership = this.#take(outcome, name, session);
          if (leadership !== undefined) return leadership;
          break;
        }
        case 'stopped':
          throw halt.reason;
        case 'failed':
          this.#haunt(session);
          throw outcome.error;
        case 'orphaned':
          await release({ ...this.#context, keys: this.#contest.keys, mark: outcome.entry.key, session }, sweep);
          await this.#rest(halt);
          break;
        case 'sessionLost':
        case 'removed':
          await this.#rest(halt);
          break;
        default:
          return outcome satisfies never;
      }
    }
  }

  #entryName(attempt: number): string {
    const { self } = this.#context;
    const { succession } = this.#contest;
    const rank = succession.rank({ election: this.name, memberId: self.memberId });
    return writeName({ ...self, attempt, succession: succession.id, rank });
  }

  /** What it will publish. Throws where that does not fit the leader's record, whichever attempt it is elected by. */
  #payload(): Payload {
    const payload = this.#contest.codec.encode(this.#value);
    const { store, self } = this.#context;
    checkRecordSize(store, self, `${this.#contest.keys.candidates}/${this.#entryName(Number.MAX_SAFE_INTEGER)}`, payload);
    return payload;
  }

  /** Those who lose their place at the same time do not come back together. */
  async #rest(halt: AbortSignal): Promise<void> {
    const { random, clock, timing } = this.#context;
    await sleep(clock, (fraction(random) * timing.ttlMs) / 20, halt);
  }

  async #candidacy(session: Session, halt: AbortSignal): Promise<{ readonly name: string; readonly outcome: Outcome }> {
    this.#attempts += 1;
    const name = this.#entryName(this.#attempts);
    const termsFromClock = this.#context.store.capabilities.termSource === 'clock';
    const rules = { keys: this.#contest.keys, succession: this.#contest.succession, termFloor: this.#termFloor, termsFromClock };
    const payload = this.#payload();
    this.#inUse = [...this.#inUse, name];
    const alsoMine = (key: Key): void => (this.#isUsed(key) ? undefined : this.#haunt(session));
    const candidacy = new Candidacy({ ...this.#context, rules, payload, name, halt, alsoMine }, session);
    const outcome = await candidacy.run();
    if (candidacy.doubtful && outcome.why !== 'elected') this.#haunt(session);
    return { name, outcome };
  }

  /** A session that ended while the claim was under way leaves nothing to lead by: no leadership, and no `elected`. */
  #take({ won, own, watching, doubtful }: Extract<Outcome, { why: 'elected' }>, name: string, session: Session): Leadership<V> | undefined {
    if (!session.isValid()) {
      endQuietly(watching);
      this.#discard(name);
      return undefined;
    }
    // The leadership made below emits `ended` even if a logger ends the session here.
    this.#context.telemetry.emit('elected', { election: this.name, term: won.term, lease: session.lease });
    const leadership: Leadership<V> = new Leadership(this.#context, this.#contest, {
      session,
      won,
      own,
      watching,
      onReleased: ({ left }, { seenTerm }) => {
        if (seenTerm !== undefined && seenTerm > this.#termFloor) this.#termFloor = seenTerm;
        this.#discard(name);
        if (left || doubtful) this.#haunt(session);
        this.#context.left(leadership);
      },
    });
    this.#context.took(leadership, session, this.#contest.succession);
    return leadership;
  }

  #isUsed(key: Key): boolean {
    return this.#inUse.some((name) => key.includes(name));
  }

  #discard(name: string): void {
    this.#inUse = this.#inUse.filter((other) => other !== name);
  }

  /** From now on ghosts are looked for, in the queue and in the leader's record, while the session lives. */
  #haunt(session: Session): void {
    if (session.ended === undefined) this.#context.ghosts.hunt(this.#contest.keys.candidates, session, (live) => this.#lay(live));
  }

  /** Removes the entries that this member made and does not use, and the leadership that somebody may have handed to one. Names are used once. */
  async #lay(session: Session): Promise<void> {
    const { store, self } = this.#context;
    const queue = await store.list(this.#contest.keys.candidates, { ...session.call, values: false });
    const leader = tryRead(readLeader, await store.read(this.#contest.keys.leader, session.call));
    const marks = queue.flatMap(({ key, lease }) => (lease === session.lease ? [key] : []));
    if (leader?.incarnation === self.incarnation) marks.push(leader.entry);
    const ghosts = new Set(marks.filter((mark) => !this.#isUsed(mark)));
    for (const mark of ghosts) await release({ ...this.#context, keys: this.#contest.keys, mark, session }, sweep);
  }
}

type Result<T> = { readonly value: T } | { readonly error: unknown };

async function settle<V, T>(work: (leadership: Leadership<V>) => Promise<T> | T, leadership: Leadership<V>): Promise<Result<T>> {
  try {
    return { value: await work(leadership) };
  } catch (error) {
    return { error };
  }
}

function unwrap<T>(result: Result<T>): { readonly value: T } {
  if ('error' in result) throw result.error;
  return result;
}

/** The signal's own reason, passed on by work that was told to stop, is no failure. */
function isEnd(error: unknown): boolean {
  return isIncumbentError(error, 'LEADERSHIP_ENDED') || (error instanceof Error && isIncumbentError(error.cause, 'LEADERSHIP_ENDED'));
}

function checkStrength({ store }: ElectionContext, name: string, accepted: string | undefined): void {
  if (store.capabilities.linearizable || accepted === store.name) return;
  throw new IncumbentError(
    'WEAK_STORE',
    `the store "${store.name}" is not linearizable: after a failover of its servers, two members may lead "${name}", or a term be issued twice. ` +
      `Pass acceptWeakStore: '${store.name}' if that is understood`,
    { details: { store: store.name, election: name } },
  );
}
