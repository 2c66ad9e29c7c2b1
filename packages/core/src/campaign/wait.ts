/** Waits for a candidate's turn: for the one ahead of it to go, and for whatever else ends that wait. */

import { endQuietly, onAbort } from '../async/abort.ts';
import { Backoff } from '../async/backoff.ts';
import type { Semaphore } from '../async/semaphore.ts';
import type { Cancel } from '../base/clock.ts';
import { isRetryable } from '../base/errors.ts';
import { fraction } from '../base/random.ts';
import type { LeaseSession, SessionContext } from '../lease/session.ts';
import { isGivenUp, isRecordOf } from '../protocol/transactions.ts';
import type { Entry, Key } from '../store/contract.ts';
import { follow, type KeyWatch } from '../store/key-watch.ts';
import { WATCH_WINDOW } from './machine.ts';
import type { CandidateEvent, CandidateRules, CandidateState, Wait } from './state.ts';

export interface CandidateWaitContext extends SessionContext {
  readonly rules: CandidateRules;
  readonly session: LeaseSession;
  /** The watch on its own entry. */
  readonly own: KeyWatch;
  /** Whether a claim of this campaign may yet be applied. */
  readonly claimOutcomeUnknown: boolean;
  readonly semaphore: Semaphore;
  /** Aborts when the caller gives up. */
  readonly halt: AbortSignal;
}

/**
 * How often a candidate reads what its watches should have told it, in ttls: those in the window, and
 * those further back. Each time a little later by chance, so that many do not read together.
 */
const CHECK_TTLS = { inWindow: 3, behind: 10 } as const;
const CHECK_SPREAD = 0.25;

/** One wait. It watches until `end` is called: what ended it is acted on first. */
export class CandidateWait {
  readonly #context: CandidateWaitContext;
  readonly #entry: Entry;
  readonly #wait: Wait;
  readonly #ended = new AbortController();
  readonly #woken = Promise.withResolvers<CandidateEvent>();
  readonly #fail = (error: unknown): void => this.#woken.reject(error);
  /** A handover takes the leader's entry away and changes mine in one step. Where both arrive at once, the change of mine says more. */
  #handedOver: CandidateEvent | undefined;
  /** What a watch told of the term last, if it is followed. */
  #term: Entry | undefined;
  readonly #givenUp = Promise.withResolvers<CandidateEvent>();
  #followsTerm = false;
  readonly #cancels: Cancel[];
  #cancelCheck: Cancel | undefined;
  /** Whether the one ahead led when this candidate last read who leads. */
  #aheadLeads = false;
  readonly #failedChecks: Backoff;
  /** What a watch on the leader's record would have told, where this wait has one. */
  #seeLeader: ((leader: Entry | undefined) => void) | undefined;

  constructor(context: CandidateWaitContext, { entry, wait }: Extract<CandidateState, { phase: 'waiting' }>) {
    this.#context = context;
    this.#entry = entry;
    this.#wait = wait;
    const { own, halt, session, telemetry, random, timing } = context;
    this.#failedChecks = new Backoff(random, 2 * timing.retryEveryMs, timing.ttlMs);
    telemetry.emit('waiting', { behind: wait.key });
    // Whose record stands in the way may be gone, and a claim of mine of unknown outcome in its place, before a watch tells of it again.
    this.#watch(wait.key, this.#mayBeMine(), (ahead) => this.#seeAhead(ahead));
    own.onNews(() => this.#seeOwn());
    this.#cancels = [...this.#claimTimeout(), onAbort(halt, () => this.#wake()), session.onEnd(() => this.#wake())];
    this.#checkLater();
  }

  /** Resolves with what ended the wait; rejects where a watch cannot go on. Later news of my own entry are left for whoever waits next. */
  async over(): Promise<CandidateEvent> {
    const woken = await this.#woken.promise;
    this.#context.own.onNews(() => {});
    const event = woken.type === 'woke' || woken.type === 'due' ? (this.#handedOver ?? woken) : woken;
    return event.type === 'woke' || event.type === 'handedOver' ? { ...event, term: this.#term } : event;
  }

  /** Ends with what a look at the term tells, or with its watch's word, should that come first. */
  async endWith(look: Promise<CandidateEvent>): Promise<CandidateEvent> {
    try {
      return await Promise.race([look, this.#givenUp.promise]);
    } finally {
      this.end();
    }
  }

  end(): void {
    endQuietly(this.#ended);
    this.#cancelCheck?.();
    this.#context.own.onNews(() => {});
    for (const cancel of this.#cancels) cancel();
  }

  #wake(): void {
    this.#woken.resolve({ type: 'woke' });
  }

  #watch(key: Key, values: boolean, see: (entry: Entry | undefined) => void): void {
    void follow(this.#context.store.watch(key, { signal: this.#ended.signal, values }), see, this.#fail);
  }

  #mayBeMine(): boolean {
    return this.#wait.for === 'leader' && this.#context.claimOutcomeUnknown;
  }

  #seeAhead(ahead: Entry | undefined): void {
    if (ahead === undefined || (this.#mayBeMine() && isRecordOf(ahead, this.#entry.key))) this.#wake();
  }

  #seeOwn(): void {
    const news = this.#context.own.take();
    if (news !== undefined) this.#takeOwn(news.entry);
  }

  #takeOwn(own: Entry | undefined): void {
    const event = ownNews(own, this.#entry);
    if (event === undefined) return;
    this.#handedOver = event;
    this.#woken.resolve(event);
  }

  #checkLater(): void {
    const { clock, timing, random } = this.#context;
    const ttls = CHECK_TTLS[this.#isBehind() ? 'behind' : 'inWindow'] * (1 + CHECK_SPREAD * fraction(random));
    this.#cancelCheck = clock.schedule(ttls * timing.ttlMs, () => void this.#check());
  }

  /** A check that failed tells that a server hangs, perhaps the one that the watches are on. */
  #checkAgain(): void {
    this.#cancelCheck = this.#context.clock.schedule(this.#failedChecks.next(), () => void this.#check());
  }

  #isBehind(): boolean {
    return this.#wait.for === 'ahead' && this.#wait.position > WATCH_WINDOW && !this.#aheadLeads;
  }

  /**
   * Reads its own entry and the leader's record, as a server may go silent for watches alone. What it
   * reads counts as if a watch had told it. A read that fails says nothing, and is soon made again.
   */
  async #check(): Promise<void> {
    const { store, session, semaphore, rules } = this.#context;
    const read = (key: Key): Promise<Entry | undefined> => store.read(key, session.call);
    try {
      const keys = [this.#entry.key, rules.keys.leader];
      const [own, leader] = await semaphore.run(() => Promise.all(keys.map(read)), keys.length);
      if (this.#ended.signal.aborted) return;
      this.#takeOwn(own);
      this.#checkLeader(leader);
      this.#failedChecks.reset();
      if (!this.#ended.signal.aborted) this.#checkLater();
    } catch (error) {
      if (!isRetryable(error)) return this.#fail(error);
      if (!this.#ended.signal.aborted) this.#checkAgain();
    }
  }

  /** Where nobody leads, the next in line looks whether it is its turn, and the claim timeout of all others begins. */
  #checkLeader(leader: Entry | undefined): void {
    const wait = this.#wait;
    if (wait.for !== 'ahead') return wait.for === 'leader' ? this.#seeAhead(leader) : undefined;
    if (leader === undefined && (wait.position === 0 || this.#aheadLeads)) return this.#woken.resolve({ type: 'due' });
    this.#aheadLeads = leader !== undefined && isRecordOf(leader, wait.key);
    if (leader === undefined && this.#seeLeader === undefined) this.#cancels.push(this.#whileVacant(wait.position));
    this.#seeLeader?.(leader);
  }

  /** How long this wait may last at most. */
  #claimTimeout(): Cancel[] {
    const { clock, timing } = this.#context;
    switch (this.#wait.for) {
      case 'leader':
        return [];
      case 'successor':
        return [clock.schedule(timing.successorClaimTimeoutMs, () => this.#claimTimedOut())];
      case 'ahead':
        // Those further back than the window begin to watch over a vacancy when they have read of one.
        if (this.#wait.position > WATCH_WINDOW) return [];
        if (this.#wait.position > 0) return [this.#whileVacant(this.#wait.position)];
        this.#followTerm();
        return [];
      default:
        return this.#wait satisfies never;
    }
  }

  #claimTimedOut(): void {
    this.#woken.resolve({ type: 'claimTimedOut' });
  }

  /** The one ahead leads, so whoever is next in line, one alone, wants to know at once how its term ends. */
  #followTerm(): void {
    const { rules } = this.#context;
    if (this.#followsTerm || !this.#mayFollowTerm()) return;
    this.#followsTerm = true;
    this.#watch(rules.keys.term, true, (term) => {
      this.#term = term;
      if (!isGivenUp(term, this.#wait.key)) return;
      this.#wake();
      this.#givenUp.resolve({ type: 'looked', queue: undefined, term, own: this.#context.own.latest });
    });
  }

  /** Not where the news is had by a read, which may as well be made then. */
  #mayFollowTerm(): boolean {
    return this.#wait.for === 'ahead' && this.#wait.next && this.#context.store.capabilities.watchTellsValues;
  }

  /**
   * Times out once the leader's key has been absent for so long without a break. A leader by my own entry is me: look again. That can only be where a
   * term is handed over in one swap, or a claim of mine has an unknown outcome; otherwise nobody who waits need ask who leads at every change.
   */
  #whileVacant(position: number): Cancel {
    const { store, clock, timing, rules, claimOutcomeUnknown } = this.#context;
    const forMs = timing.ttlMs * (1 + position / 2);
    const values = store.capabilities.assignableLease || claimOutcomeUnknown || this.#mayFollowTerm();
    let cancel: Cancel | undefined;
    const see = (leader: Entry | undefined): void => {
      if (leader === undefined) {
        cancel ??= clock.schedule(forMs, () => this.#claimTimedOut());
        return;
      }
      cancel?.();
      cancel = undefined;
      if (!values) return;
      if (isRecordOf(leader, this.#entry.key)) this.#wake();
      else if (isRecordOf(leader, this.#wait.key)) this.#followTerm();
    };
    this.#seeLeader = see;
    this.#watch(rules.keys.leader, values, see);
    return () => cancel?.();
  }
}

/** What the latest state of its own entry tells a candidate that waits. */
function ownNews(own: Entry | undefined, entry: Entry): CandidateEvent | undefined {
  if (own === undefined) return { type: 'removed' };
  return own.revision === entry.revision ? undefined : { type: 'handedOver', entry: own };
}
