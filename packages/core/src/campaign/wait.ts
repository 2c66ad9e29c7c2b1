/**
 * The wait of a candidate: for the one ahead to go, and for every other event that ends the wait.
 */

import { endQuietly, onAbort } from '../async/abort.ts';
import { Backoff } from '../async/backoff.ts';
import type { Semaphore } from '../async/semaphore.ts';
import type { Cancel } from '../base/clock.ts';
import { isRetryable } from '../base/errors.ts';
import { fraction } from '../base/random.ts';
import type { LeaseSession, SessionContext } from '../lease/session.ts';
import { isGivenUp, isRecordOf, isTermOf } from '../protocol/transactions.ts';
import type { Entry, Key, Revision } from '../store/contract.ts';
import { follow, type KeyWatch } from '../store/key-watch.ts';
import type { CampaignCalls } from './calls.ts';
import { WATCH_WINDOW } from './campaign-machine.ts';
import type { CandidateEvent, CandidateRules, CandidateState, Wait } from './state.ts';

/** What a wait needs. */
export interface CandidateWaitContext extends SessionContext {
  /** The name of the election, for events. */
  readonly election: string;
  readonly rules: CandidateRules;
  readonly session: LeaseSession;
  readonly calls: CampaignCalls;
  /** The watch on its own entry. */
  readonly own: KeyWatch;
  /** Whether the store may still apply an earlier claim of this campaign. */
  readonly claimOutcomeUnknown: boolean;
  readonly semaphore: Semaphore;
  /** Aborts when the caller gives up. */
  readonly halt: AbortSignal;
}

/**
 * How often a candidate reads its own entry and the leader's record, in ttls. `inWindow`: the next
 * in line and the `WATCH_WINDOW` candidates behind it.
 */
const CHECK_TTLS = { inWindow: 3, behind: 10 } as const;
/** The longest random delay that is added, as a part of that time: many do not read together. */
const CHECK_SPREAD = 0.25;

/**
 * How long a candidate waits for another event of the same swap that says more, in ms. The watches
 * of several keys may show the changes of one swap one after the other. After the entry ahead has
 * gone, the candidate waits for the end of that entry's term, or for the mark in its own entry;
 * after the leader's record has become its own, for the mark; after the mark, for the new term.
 * After a crash, there is no other event.
 */
const SAME_SWAP_MS = 2;

/** One wait. It watches until `end` is called, so that the caller can act on its result first. */
export class CandidateWait {
  readonly #context: CandidateWaitContext;
  readonly #entry: Entry;
  readonly #wait: Wait;
  readonly #ended = new AbortController();
  readonly #woken = Promise.withResolvers<CandidateEvent>();
  readonly #fail = (error: unknown): void => this.#woken.reject(error);
  /**
   * Set when my entry has changed or is gone. A handover deletes the leader's entry and changes
   * mine in one step. If both events arrive together, the wait ends with this one, which says more.
   */
  #ownEvent: CandidateEvent | undefined;
  /** The term's entry as the watch last showed it, if the term is watched. */
  #term: Entry | undefined;
  /** Resolves when the watch of the term shows that the one ahead has ended it. */
  readonly #termEnded = Promise.withResolvers<CandidateEvent>();
  #followsTerm = false;
  readonly #cancels: Cancel[];
  #cancelCheck: Cancel | undefined;
  /** Whether the one ahead led when this candidate last read who leads. */
  #aheadLeads = false;
  readonly #failedChecks: Backoff;
  /** Handles a state of the leader's record, if this wait watches it. */
  #seeLeader: ((leader: Entry | undefined) => void) | undefined;
  #isNotified = false;

  constructor(context: CandidateWaitContext, { entry, wait }: Extract<CandidateState, { phase: 'waiting' }>) {
    this.#context = context;
    this.#entry = entry;
    this.#wait = wait;
    const { election, own, halt, session, telemetry, random, timing } = context;
    this.#failedChecks = new Backoff(random, 2 * timing.retryEveryMs, timing.ttlMs);
    telemetry.emit('waiting', { election, behind: wait.key });
    // The leader's record that blocks me may be replaced by my own earlier claim before a watch
    // shows it absent.
    this.#watch(wait.key, this.#mayBeMine(), (ahead) => this.#seeAhead(ahead));
    own.onNews(() => this.#seeOwn());
    this.#cancels = [...this.#claimTimeout(), onAbort(halt, () => this.#wake()), session.onEnd(() => this.#wake())];
    this.#checkLater();
  }

  /**
   * Resolves with the event that ended the wait. Rejects if a watch cannot go on. Leaves later
   * changes of my own entry to the next wait.
   */
  async over(): Promise<CandidateEvent> {
    const woken = await this.#woken.promise;
    this.#context.own.onNews(() => {});
    const event = woken.type === 'woke' || woken.type === 'due' ? (this.#ownEvent ?? woken) : woken;
    return event.type === 'woke' || event.type === 'handedOver' ? { ...event, term: this.#term } : event;
  }

  /**
   * Resolves with the result of a read of the term, or with the watch's event of the term if that
   * comes first.
   */
  async endWith(look: Promise<CandidateEvent>): Promise<CandidateEvent> {
    try {
      return await Promise.race([look, this.#termEnded.promise]);
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

  /** Reports the first news that may end this wait. `waitedMs`: how long a timeout has lasted. */
  #notified(why: 'aheadGone' | 'termEnded' | 'leaderGone' | 'handedOver' | 'claimTimedOut', waitedMs?: number): void {
    const { telemetry, election } = this.#context;
    if (this.#isNotified || this.#ended.signal.aborted || !telemetry.wants('notified')) return;
    this.#isNotified = true;
    telemetry.emit('notified', { election, why, behind: this.#wait.key, waitedMs });
  }

  #watch(key: Key, values: boolean, see: (entry: Entry | undefined) => void): void {
    void follow(this.#context.store.watch(key, { signal: this.#ended.signal, values }), see, this.#fail);
  }

  #mayBeMine(): boolean {
    return this.#wait.for === 'leader' && this.#context.claimOutcomeUnknown;
  }

  #seeAhead(ahead: Entry | undefined): void {
    if (ahead === undefined) this.#aheadHasGone();
    else if (this.#mayBeMine() && isRecordOf(ahead, this.#entry.key)) this.#wake();
  }

  /**
   * Wakes at once, unless another watch may still show that the one ahead has resigned, or that it
   * has handed over to me.
   */
  #aheadHasGone(): void {
    this.#notified(this.#wait.for === 'leader' ? 'leaderGone' : 'aheadGone');
    const isPending = this.#term === undefined || [this.#wait.key, this.#entry.key].some((holder) => isTermOf(this.#term, holder));
    if (this.#followsTerm && isPending) this.#wakeSoon();
    else this.#wake();
  }

  #wakeSoon(): void {
    this.#cancels.push(this.#context.clock.schedule(SAME_SWAP_MS, () => this.#wake()));
  }

  #seeOwn(): void {
    const news = this.#context.own.take();
    if (news !== undefined) this.#takeOwn(news.entry);
  }

  #takeOwn(own: Entry | undefined): void {
    const event = ownNews(own, this.#entry);
    if (event === undefined) return;
    if (event.type === 'handedOver') this.#notified('handedOver');
    this.#ownEvent = event;
    if (event.type === 'handedOver' && this.#termMayFollow()) this.#wakeSoon();
    else this.#woken.resolve(event);
  }

  /**
   * True if the watch of the term has not shown yet what a handover in one swap has written. Where
   * each key of a swap has its own revision, the mark in my entry is certain only with the term.
   */
  #termMayFollow(): boolean {
    const { assignableLease, revisionInSwap } = this.#context.store.capabilities;
    return assignableLease && revisionInSwap === undefined && this.#followsTerm && !isTermOf(this.#term, this.#entry.key);
  }

  #checkLater(): void {
    const { clock, timing, random } = this.#context;
    const ttls = CHECK_TTLS[this.#isBehind() ? 'behind' : 'inWindow'] * (1 + CHECK_SPREAD * fraction(random));
    this.#cancelCheck = clock.schedule(ttls * timing.ttlMs, () => void this.#check());
  }

  /** Repeats a failed check soon: a server hangs, perhaps the one that serves the watches. */
  #checkAgain(): void {
    this.#cancelCheck = this.#context.clock.schedule(this.#failedChecks.next(), () => void this.#check());
  }

  #isBehind(): boolean {
    return this.#wait.for === 'ahead' && this.#wait.position > WATCH_WINDOW && !this.#aheadLeads;
  }

  /**
   * Reads its own entry and the leader's record, because a server may stop serving watches while it
   * still answers reads. Treats what it reads like events of the watches. Reads the term as well if
   * the watch of the term has shown nothing yet. Soon repeats reads that have failed.
   */
  async #check(): Promise<void> {
    const { store, calls, semaphore, rules } = this.#context;
    try {
      const keys = [this.#entry.key, rules.keys.leader];
      if (this.#followsTerm && this.#term === undefined) keys.push(rules.keys.term);
      const [own, leader, term] = await semaphore.run(
        () => calls.make((call) => Promise.all(keys.map((key) => store.read(key, call)))),
        keys.length,
      );
      if (this.#ended.signal.aborted) return;
      this.#term ??= term;
      this.#takeOwn(own);
      this.#checkLeader(leader);
      this.#failedChecks.reset();
      if (!this.#ended.signal.aborted) this.#checkLater();
    } catch (error) {
      if (!isRetryable(error)) return this.#fail(error);
      if (!this.#ended.signal.aborted) this.#checkAgain();
    }
  }

  /**
   * If nobody leads, the next in line reads the queue again, and the claim timeout of the others
   * starts.
   */
  #checkLeader(leader: Entry | undefined): void {
    const wait = this.#wait;
    if (wait.for !== 'ahead') return wait.for === 'leader' ? this.#seeAhead(leader) : undefined;
    if (leader === undefined && (wait.position === 0 || this.#aheadLeads)) {
      this.#notified('leaderGone');
      return this.#woken.resolve({ type: 'due' });
    }
    this.#aheadLeads = leader !== undefined && isRecordOf(leader, wait.key);
    if (leader === undefined && this.#seeLeader === undefined) this.#cancels.push(this.#whileVacant(wait.position));
    this.#seeLeader?.(leader);
  }

  /** Schedules the event that ends this wait at the latest. */
  #claimTimeout(): Cancel[] {
    const { clock, timing } = this.#context;
    switch (this.#wait.for) {
      case 'leader':
        return [];
      case 'successor':
        return [clock.schedule(timing.successorClaimTimeoutMs, () => this.#claimTimedOut(timing.successorClaimTimeoutMs))];
      case 'ahead':
        // Candidates behind the window watch for a vacancy only after they have read of one.
        if (this.#wait.position > WATCH_WINDOW) return [];
        if (this.#wait.position > 0) return [this.#whileVacant(this.#wait.position)];
        this.#followTerm();
        return [];
      default:
        return this.#wait satisfies never;
    }
  }

  #claimTimedOut(afterMs: number): void {
    this.#notified('claimTimedOut', afterMs);
    this.#woken.resolve({ type: 'claimTimedOut' });
  }

  /**
   * Watches the term if the one ahead leads. Only the next in line does, so that it learns at once
   * how the term ends, and can claim without a read if the leader crashes. `since`: a revision in
   * which the leader has this term. A store that begins the watch there saves a read now, and the
   * next check reads the term.
   */
  #followTerm(since?: Revision): void {
    const { rules, store } = this.#context;
    if (this.#followsTerm || !this.#mayFollowTerm()) return;
    this.#followsTerm = true;
    const { signal } = this.#ended;
    const see = (term: Entry | undefined): void => {
      this.#term = term;
      if (this.#ownEvent !== undefined && !this.#termMayFollow()) this.#wake();
      if (!isGivenUp(term, this.#wait.key)) return;
      this.#notified('termEnded');
      this.#wake();
      this.#termEnded.resolve({ type: 'looked', queue: undefined, term, own: this.#context.own.latest });
    };
    void follow(store.watch(rules.keys.term, { signal, since }), see, this.#fail);
  }

  /** False if the store's notifications carry no values: then a watch would save no read. */
  #mayFollowTerm(): boolean {
    return this.#wait.for === 'ahead' && this.#wait.next && this.#context.store.capabilities.watchTellsValues;
  }

  /**
   * Times out when the leader's key has been absent for the whole time. Reads again if the leader's
   * record has my own entry: after a handover in one swap, or a claim of mine with an unknown
   * outcome. In all other cases, a waiting candidate does not need the record's value.
   */
  #whileVacant(position: number): Cancel {
    const { store, clock, timing, rules, claimOutcomeUnknown } = this.#context;
    // Half a ttl more for each place, so that the candidates time out one after the other.
    const forMs = timing.ttlMs * (1 + position / 2);
    const values = store.capabilities.assignableLease || claimOutcomeUnknown || this.#mayFollowTerm();
    let cancel: Cancel | undefined;
    const see = (leader: Entry | undefined): void => {
      if (leader === undefined) {
        cancel ??= clock.schedule(forMs, () => this.#claimTimedOut(forMs));
        return;
      }
      cancel?.();
      cancel = undefined;
      if (!values) return;
      if (isRecordOf(leader, this.#entry.key)) {
        this.#notified('handedOver');
        this.#wakeSoon();
      } else if (isRecordOf(leader, this.#wait.key)) {
        this.#followTerm(store.capabilities.revisionInSwap?.(leader.revision, undefined));
      }
    };
    this.#seeLeader = see;
    this.#watch(rules.keys.leader, values, see);
    return () => cancel?.();
  }
}

/** The event that the latest state of its own entry means for a waiting candidate. */
function ownNews(own: Entry | undefined, entry: Entry): CandidateEvent | undefined {
  if (own === undefined) return { type: 'removed' };
  return own.revision === entry.revision ? undefined : { type: 'handedOver', entry: own };
}
