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
import { isEndedTermOf, isRecordOf } from '../protocol/transactions.ts';
import type { Entry, Key, Revision } from '../store/contract.ts';
import { follow, type KeyWatch } from '../store/key-watch.ts';
import type { CampaignCalls } from './calls.ts';
import { WATCH_WINDOW } from './campaign-machine.ts';
import type { KnownTerms } from './known-terms.ts';
import type { CandidateEvent, CandidateRules, CandidateState, Wait } from './state.ts';
import { verdictOn } from './wait-verdict.ts';

/** What a wait needs. */
export interface CandidateWaitContext extends SessionContext {
  /** The name of the election, for events. */
  readonly election: string;
  readonly rules: Pick<CandidateRules, 'keys'>;
  readonly terms: KnownTerms;
  readonly session: LeaseSession;
  readonly calls: CampaignCalls;
  /** The watch on its own entry. */
  readonly entryWatch: KeyWatch;
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
/** The longest random addition to that time, as a fraction of it, so that not all read at once. */
const CHECK_SPREAD = 0.25;

/**
 * How long a candidate waits for another change of the same swap that says more, in ms: see
 * `verdictOn`.
 */
const SAME_SWAP_MS = 2;

/**
 * One wait. Watches, timers and reads add to what it knows, and `#judge` decides whether that ends
 * the wait. It watches until `end` is called, so that the caller can act on its result first.
 */
export class CandidateWait {
  readonly #context: CandidateWaitContext;
  readonly #entry: Entry;
  readonly #wait: Wait;
  readonly #ended = new AbortController();
  readonly #woken = Promise.withResolvers<CandidateEvent>();
  readonly #fail = (error: unknown): void => this.#woken.reject(error);

  /** True if the key that blocks this candidate is gone. */
  #aheadGone = false;
  /** True if the leader's record is its own. */
  #recordIsOwn = false;
  /** Set when its own entry has changed or is gone. */
  #ownEvent: CandidateEvent | undefined;
  /** The term's entry as the watch last showed it, if the term is watched. */
  #termEntry: Entry | undefined;
  #followsTerm = false;
  /** Resolves when the watch of the term shows that the one ahead has ended it. */
  readonly #termEnded = Promise.withResolvers<CandidateEvent>();
  /** Whether the one ahead led when this candidate last read who leads. */
  #aheadLeads = false;

  readonly #cancels: Cancel[] = [];
  #cancelCheck: Cancel | undefined;
  readonly #failedChecks: Backoff;
  /**
   * How long nobody may lead before the wait times out. Set once the leader's record is watched.
   */
  #vacancyMs: number | undefined;
  #cancelVacancy: Cancel | undefined;
  #wakesSoon = false;
  #isNotified = false;

  constructor(context: CandidateWaitContext, { entry, wait }: Extract<CandidateState, { phase: 'waiting' }>) {
    this.#context = context;
    this.#entry = entry;
    this.#wait = wait;
    const { random, timing } = context;
    this.#failedChecks = new Backoff(random, 2 * timing.retryEveryMs, timing.ttlMs);
  }

  /**
   * Starts the watches and timers, and resolves with the event that ended the wait. Rejects if a
   * watch cannot go on. Leaves later changes of its own entry to the next wait.
   */
  async run(): Promise<CandidateEvent> {
    const { election, entryWatch, halt, session, telemetry } = this.#context;
    telemetry.emit('waiting', { election, behind: this.#wait.key });
    this.#cancels.push(
      onAbort(halt, () => this.#wake()),
      session.onEnd(() => this.#wake()),
    );
    // An earlier claim of this candidate may replace the leader's record that blocks it before a
    // watch shows that record absent.
    this.#watch(this.#wait.key, this.#mayBeOwn(), (ahead) => this.#seeAhead(ahead));
    entryWatch.onNews(() => this.#seeEntry());
    this.#watchByPosition();
    this.#checkLater();
    const woken = await this.#woken.promise;
    entryWatch.onNews(() => {});
    // A handover deletes the leader's entry and changes this candidate's entry in one step. The
    // change of its own entry says more.
    const event = this.#ownEvent ?? woken;
    return event.type === 'woke' || event.type === 'entryChanged' ? { ...event, termEntry: this.#termEntry } : event;
  }

  /**
   * Resolves with the result of a read of the term, or with the watch's event of the term if that
   * comes first.
   */
  async orTermEnded(look: Promise<CandidateEvent>): Promise<CandidateEvent> {
    try {
      return await Promise.race([look, this.#termEnded.promise]);
    } finally {
      this.end();
    }
  }

  end(): void {
    endQuietly(this.#ended);
    this.#cancelCheck?.();
    this.#cancelVacancy?.();
    this.#context.entryWatch.onNews(() => {});
    for (const cancel of this.#cancels) cancel();
  }

  /** Ends the wait if what is known says so: now, or soon if another watch may say more. */
  #judge(): void {
    const verdict = verdictOn({
      aheadKey: this.#wait.key,
      entryKey: this.#entry.key,
      aheadGone: this.#aheadGone,
      recordIsOwn: this.#recordIsOwn,
      ownEvent: this.#ownEvent?.type,
      termEntry: this.#termEntry,
      followsTerm: this.#followsTerm,
      capabilities: this.#context.store.capabilities,
    });
    if (verdict === 'endNow') this.#wake();
    if (verdict !== 'endSoon' || this.#wakesSoon) return;
    this.#wakesSoon = true;
    this.#cancels.push(this.#context.clock.schedule(SAME_SWAP_MS, () => this.#wake()));
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

  #mayBeOwn(): boolean {
    return this.#wait.for === 'leader' && this.#context.claimOutcomeUnknown;
  }

  #seeAhead(ahead: Entry | undefined): void {
    if (this.#wait.for === 'leader') this.#context.terms.seeLeader(ahead);
    if (ahead === undefined) {
      this.#notified(this.#wait.for === 'leader' ? 'leaderGone' : 'aheadGone');
      this.#aheadGone = true;
    } else if (this.#mayBeOwn() && isRecordOf(ahead, this.#entry.key)) this.#recordIsOwn = true;
    this.#judge();
  }

  #seeEntry(): void {
    const news = this.#context.entryWatch.take();
    if (news !== undefined) this.#takeEntry(news.entry);
  }

  #takeEntry(present: Entry | undefined): void {
    const event = changeOf(present, this.#entry);
    if (event === undefined) return;
    // An operator may have changed the entry instead. That is rare, and is reported alike.
    if (event.type === 'entryChanged') this.#notified('handedOver');
    this.#ownEvent = event;
    this.#judge();
  }

  /**
   * Watches the term if the one ahead leads. Only the next in line does, so that it learns at once
   * how the term ends, and can claim without a read if the leader crashes. `since`: a revision at
   * which the key `term` has the leader's term. A store that starts the watch there shows only
   * later changes, which saves a read now. The next check reads the term.
   */
  #followTerm(since?: Revision): void {
    const { rules, store } = this.#context;
    if (this.#followsTerm || !this.#mayFollowTerm()) return;
    this.#followsTerm = true;
    const { signal } = this.#ended;
    void follow(store.watch(rules.keys.term, { signal, since }), (termEntry) => this.#seeTerm(termEntry), this.#fail);
  }

  /**
   * True if this candidate is the next in line, and the store's notifications carry values. Without
   * values, a watch of the term would save no read.
   */
  #mayFollowTerm(): boolean {
    return this.#wait.for === 'ahead' && this.#wait.isNextInLine && this.#context.store.capabilities.watchTellsValues;
  }

  #seeTerm(termEntry: Entry | undefined): void {
    this.#termEntry = termEntry;
    this.#context.terms.seeTerm(termEntry);
    if (isEndedTermOf(termEntry, this.#wait.key)) {
      this.#notified('termEnded');
      this.#termEnded.resolve({ type: 'looked', queue: undefined, termEntry, ownEntry: this.#context.entryWatch.latest });
    }
    this.#judge();
  }

  /**
   * Starts the other watches and timers that this candidate's position needs. Behind a successor: a
   * timeout. Next in line: the term. In the window behind that: the leader's record, for a vacancy
   * that lasts. Candidates behind the window watch for a vacancy only after they have read of one.
   */
  #watchByPosition(): void {
    const { clock, timing } = this.#context;
    const wait = this.#wait;
    if (wait.for === 'leader') return;
    if (wait.for === 'successor') {
      const afterMs = timing.successorClaimTimeoutMs;
      this.#cancels.push(clock.schedule(afterMs, () => this.#claimTimedOut(afterMs)));
    } else if (wait.position === 0) this.#followTerm();
    else if (wait.position <= WATCH_WINDOW) this.#watchLeader(wait.position);
  }

  #claimTimedOut(afterMs: number): void {
    this.#notified('claimTimedOut', afterMs);
    this.#woken.resolve({ type: 'claimTimedOut' });
  }

  /**
   * Watches whether anybody leads, and for how long nobody does. The record's value is needed only
   * where it may become its own, after a handover in one swap or an earlier claim with an unknown
   * outcome, and where it says whether the one ahead leads.
   */
  #watchLeader(position: number): void {
    const { store, timing, rules, claimOutcomeUnknown } = this.#context;
    // Half a ttl more for each place, so that the candidates time out one after the other.
    this.#vacancyMs = timing.ttlMs * (1 + position / 2);
    const values = store.capabilities.assignableLease || claimOutcomeUnknown || this.#mayFollowTerm();
    this.#watch(rules.keys.leader, values, (leaderEntry) => this.#seeLeader(leaderEntry));
  }

  /** Times out when the leader's record has been absent for all of `vacancyMs`. */
  #seeLeader(leaderEntry: Entry | undefined): void {
    this.#context.terms.seeLeader(leaderEntry);
    const { store, clock } = this.#context;
    const forMs = this.#vacancyMs;
    if (forMs === undefined) return;
    if (leaderEntry === undefined) {
      this.#cancelVacancy ??= clock.schedule(forMs, () => this.#claimTimedOut(forMs));
      return;
    }
    this.#cancelVacancy?.();
    this.#cancelVacancy = undefined;
    if (isRecordOf(leaderEntry, this.#entry.key)) {
      this.#notified('handedOver');
      this.#recordIsOwn = true;
      this.#judge();
    } else if (isRecordOf(leaderEntry, this.#wait.key)) {
      this.#followTerm(store.capabilities.revisionInSwap?.(leaderEntry.revision, undefined));
    }
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
      if (this.#followsTerm && this.#termEntry === undefined) keys.push(rules.keys.term);
      const [ownEntry, leaderEntry, termEntry] = await semaphore.run(
        () => calls.make((call) => Promise.all(keys.map((key) => store.read(key, call)))),
        keys.length,
      );
      if (this.#ended.signal.aborted) return;
      this.#termEntry ??= termEntry;
      this.#takeEntry(ownEntry);
      this.#checkLeader(leaderEntry);
      this.#failedChecks.reset();
      if (!this.#ended.signal.aborted) this.#checkLater();
    } catch (error) {
      if (!isRetryable(error)) return this.#fail(error);
      if (!this.#ended.signal.aborted) this.#checkAgain();
    }
  }

  /**
   * If nobody leads, the next in line reads the queue again, and the others begin to watch how long
   * nobody does.
   */
  #checkLeader(leaderEntry: Entry | undefined): void {
    const wait = this.#wait;
    if (wait.for === 'leader') return this.#seeAhead(leaderEntry);
    if (wait.for === 'successor') return;
    if (leaderEntry === undefined && (wait.position === 0 || this.#aheadLeads)) {
      this.#notified('leaderGone');
      return this.#woken.resolve({ type: 'due' });
    }
    this.#aheadLeads = isRecordOf(leaderEntry, wait.key);
    if (leaderEntry === undefined && this.#vacancyMs === undefined) this.#watchLeader(wait.position);
    this.#seeLeader(leaderEntry);
  }
}

/**
 * The event of a waiting candidate whose own entry is `present` in the store, and was `known` when
 * the wait began.
 */
function changeOf(present: Entry | undefined, known: Entry): CandidateEvent | undefined {
  if (present === undefined) return { type: 'removed' };
  return present.revision === known.revision ? undefined : { type: 'entryChanged', entry: present };
}
