/**
 * Drives one campaign: makes the call that its state asks for, and passes the result to the pure
 * transitions of `campaign-machine.ts`.
 */

import { endQuietly, onAbort } from '../async/abort.ts';
import { Backoff } from '../async/backoff.ts';
import type { Semaphore } from '../async/semaphore.ts';
import { sleep } from '../async/sleep.ts';
import { isRetryable, outcomeOf } from '../base/errors.ts';
import type { LeaseSession, SessionContext } from '../lease/session.ts';
import { type Payload, readTerm, tryRead, writeCandidate } from '../protocol/record.ts';
import { type Claim, claimChanges, isRecordOf, type MemberIdentity, type Won } from '../protocol/transactions.ts';
import type { CallOptions, Change, Entry, Key, QueueLook } from '../store/contract.ts';
import { KeyWatch, watchContext } from '../store/key-watch.ts';
import { CampaignCalls } from './calls.ts';
import { initialState, transition, WATCH_WINDOW } from './campaign-machine.ts';
import type { CandidateEvent, CandidateRules, CandidateState, Exit, LookedAround } from './state.ts';
import type { KnownTerms, LostTerms } from './known-terms.ts';
import { CandidateWait } from './wait.ts';

/** What a campaign needs. */
export interface CampaignRunnerContext extends SessionContext {
  /** The name of the election, for events. */
  readonly election: string;
  readonly self: MemberIdentity;
  readonly rules: Omit<CandidateRules, 'termFloor' | 'seenTerm'>;
  /** What the member knows about the terms, also from earlier campaigns. */
  readonly terms: KnownTerms;
  readonly payload: Payload;
  /** The name of the entry. Used for this campaign alone, and never again. */
  readonly name: string;
  readonly semaphore: Semaphore;
  /** Aborts when the caller gives up. */
  readonly halt: AbortSignal;
  /**
   * `never`: leaves the queue instead of waiting behind another candidate or a leader, and fails at
   * the first call that fails, as if a retry could not help.
   */
  readonly wait: 'never' | 'untilElected';
  /**
   * Called for every other entry of this member in the queue. An entry that the member does not use
   * is an orphan.
   */
  readonly onOtherEntry: (key: Key) => void;
}

/** How a campaign of one entry ended. */
export type CampaignResult = Elected | { readonly why: 'sessionLost' } | Exit;

/** The candidate is elected, with the facts that its leadership begins with. */
export interface Elected {
  readonly why: 'elected';
  readonly won: Won;
  /** The watch on its own entry, which the leadership takes over and ends. */
  readonly entryWatch: KeyWatch;
  /** Whether the store may still apply an enqueue of this campaign, even after its term. */
  readonly enqueueUnknown: boolean;
}

/**
 * Reported instead of making a call, after the caller gave up or the session ended. The loop then
 * leaves.
 */
const HALTED: CandidateEvent = { type: 'failed', unknown: false };

/**
 * How many entries ahead a candidate reads: the leader's, those that its claim may pass over, and
 * one more, which shows that others are ahead of those.
 */
const LOOK_AHEAD = WATCH_WINDOW + 2;

/** What a campaign reports of its claim once the store has applied it. */
interface ClaimFacts {
  readonly term: bigint;
  /** The terms that the store had lost before the claim. */
  readonly lost: LostTerms | undefined;
  /** The entries of the candidates that the claim passes over. */
  readonly evicted: readonly Key[];
}

/** One campaign with one entry in the queue. */
export class CampaignRunner {
  readonly #context: CampaignRunnerContext;
  readonly #session: LeaseSession;
  readonly #calls: CampaignCalls;
  readonly #backoff: Backoff;
  #entryWatch: KeyWatch | undefined;
  /** The present wait, or the one that has just ended. */
  #waiting: CandidateWait | undefined;
  #enqueueUnknown = false;
  /** What the store has read for the first look. Undefined once the campaign has used it. */
  #firstLook: LookedAround | undefined;
  /** Whether the store may still apply an earlier claim of this campaign. */
  #claimOutcomeUnknown = false;
  /** The latest claim that the store has applied, or may have applied. */
  #claimed: ClaimFacts | undefined;
  #stopped = false;
  /** The key of its entry, once the store has confirmed it. */
  #joinedAs: Key | undefined;

  constructor(context: CampaignRunnerContext, session: LeaseSession) {
    this.#context = context;
    this.#session = session;
    this.#calls = new CampaignCalls(session, context);
    this.#backoff = new Backoff(context.random, context.timing.retryEveryMs, context.timing.ttlMs / 2);
  }

  /** Runs until the candidate is elected or out, or its session is lost. */
  async run(): Promise<CampaignResult> {
    const outcome = await this.#run();
    this.#endWait();
    if (outcome.why !== 'elected') {
      this.#entryWatch?.end();
      this.#reportLeft(outcome);
    }
    return outcome;
  }

  /** Whether the store may still apply an enqueue of this campaign, even after its end. */
  get enqueueUnknown(): boolean {
    return this.#enqueueUnknown;
  }

  async #run(): Promise<CampaignResult> {
    const { election, telemetry, terms } = this.#context;
    let state: CandidateState = initialState;
    for (;;) {
      if (state.phase === 'elected') {
        const { won } = state;
        if (this.#claimed?.term === won.term) this.#reportApplied(this.#claimed);
        terms.see(won.term);
        return { why: 'elected', won, entryWatch: this.#watchEntry(won.entry), enqueueUnknown: this.#enqueueUnknown };
      }
      if (state.phase === 'out') return state.exit;
      if (!this.#session.isValid()) return { why: 'sessionLost' };
      if (!this.#stopped && this.#givesUp(state)) {
        this.#stopped = true;
        state = this.#transition(state, { type: 'stop' });
        continue;
      }
      const event = await this.#perform(state);
      if (event.type === 'enqueued') {
        this.#joinedAs = event.entry.key;
        telemetry.emit('joined', { election, key: event.entry.key });
      }
      this.#seeTerms(event);
      state = this.#transition(state, event);
    }
  }

  /** Pairs with the event `joined`: a campaign that has never joined reports nothing. */
  #reportLeft(outcome: Exclude<CampaignResult, Elected>): void {
    if (this.#joinedAs === undefined) return;
    const { election, telemetry } = this.#context;
    const error = outcome.why === 'failed' ? outcome.error : undefined;
    telemetry.emit('left', { election, key: this.#joinedAs, why: outcome.why, error });
  }

  #givesUp({ phase }: CandidateState): boolean {
    return this.#context.halt.aborted || (phase === 'waiting' && this.#context.wait === 'never');
  }

  /** Unreadable data ends a campaign, like every other error that a retry does not solve. */
  #transition(state: CandidateState, event: CandidateEvent): CandidateState {
    const { rules: fixed, terms } = this.#context;
    const rules = { ...fixed, termFloor: terms.floor, seenTerm: terms.seen };
    try {
      return transition(state, event, rules);
    } catch (error) {
      return transition(state, { type: 'fatal', error }, rules);
    }
  }

  /** Remembers the terms that the store shows: it may lose them. */
  #seeTerms(event: CandidateEvent): void {
    const { terms } = this.#context;
    if ('termEntry' in event) terms.seeTerm(event.termEntry);
    if (event.type === 'read') terms.seeLeader(event.leaderEntry);
  }

  async #perform(state: CandidateState): Promise<CandidateEvent> {
    try {
      const event = await this.#begin(state);
      if (state.phase !== 'pausing' && state.phase !== 'waiting') this.#backoff.reset();
      return event;
    } catch (error) {
      return this.#failed(state, error);
    }
  }

  /** Starts the next step before it closes the watches of the previous one. */
  #begin(state: CandidateState): Promise<CandidateEvent> {
    const past = this.#waiting;
    this.#waiting = undefined;
    const begun = this.#do(state);
    if (past !== undefined && state.phase === 'looking' && state.goneAhead !== undefined) return past.orTermEnded(begun);
    past?.end();
    return begun;
  }

  #failed(state: CandidateState, error: unknown): CandidateEvent {
    // These states make no call that could be tried again.
    if (state.phase === 'pausing' || state.phase === 'elected' || state.phase === 'out') return { type: 'fatal', error };
    this.#session.callFailed(error);
    const unknown = outcomeOf(error) === 'unknown';
    if (state.phase === 'joining' && unknown) this.#enqueueUnknown = true;
    if (state.phase === 'claiming' && unknown) this.#claimOutcomeUnknown = true;
    if (!isRetryable(error) || this.#context.wait === 'never') return { type: 'fatal', error };
    const { telemetry, clock } = this.#context;
    if (this.#session.ended === undefined) telemetry.emitOften('retry', { doing: state.phase, error }, clock.monotonic());
    return { type: 'failed', unknown };
  }

  async #do(state: CandidateState): Promise<CandidateEvent> {
    switch (state.phase) {
      case 'joining':
        return this.#join();
      case 'looking':
        return this.#takeFirstLook(state.entry) ?? this.#withPermit((call) => this.#look(state, call), 2);
      case 'waiting':
        return this.#wait(state);
      case 'claiming':
        return this.#claim(state);
      case 'confirming':
        return this.#withPermit((call) => this.#confirm(state.termEntry, state.entry.key, call), state.termEntry === undefined ? 2 : 1);
      case 'withdrawing': {
        const { entry } = state;
        if (entry === undefined) return this.#enqueue();
        return this.#withPermit((call) => this.#swap([{ key: entry.key, expect: entry.revision, delete: true }], call));
      }
      case 'pausing':
        await this.#pause(this.#backoff.next());
        return { type: 'paused' };
      case 'elected':
      case 'out':
        throw new TypeError(`nothing is done when ${state.phase}`);
      default:
        return state satisfies never;
    }
  }

  /**
   * Waits for a permit. Makes no call if the caller has given up or the session has ended by then.
   */
  async #withPermit(task: (call: CallOptions) => Promise<CandidateEvent>, calls = 1): Promise<CandidateEvent> {
    const { semaphore, halt } = this.#context;
    const isHalted = (): boolean => this.#session.ended !== undefined || (halt.aborted && !this.#stopped);
    return semaphore.run(async () => (isHalted() ? HALTED : this.#calls.make(task)), calls);
  }

  /** Joins the queue. If only the time of joining counts, asks the store for the first look. */
  async #join(): Promise<CandidateEvent> {
    const { keys, succession } = this.#context.rules;
    let looked: LookedAround | undefined;
    const seen: QueueLook['seen'] = (queue, termEntry) => {
      looked = { type: 'looked', queue, termEntry };
    };
    const event = await this.#enqueue(succession.byArrival ? { key: keys.term, last: LOOK_AHEAD, seen } : undefined);
    this.#firstLook = looked;
    return event;
  }

  async #enqueue(look?: QueueLook): Promise<CandidateEvent> {
    const { store, rules, terms, name, payload } = this.#context;
    const value = writeCandidate(payload, terms.floor, terms.seen);
    return this.#withPermit(async (call) => {
      const entry = await store.enqueue(rules.keys.candidates, name, value, this.#session.lease, { ...call, look });
      return { type: 'enqueued', entry };
    });
  }

  #takeFirstLook(entry: Entry): LookedAround | undefined {
    const looked = this.#firstLook;
    this.#firstLook = undefined;
    if (looked !== undefined) this.#reportOthers(looked.queue, entry);
    return looked;
  }

  /**
   * Reads the term and the leader's record at the same time, as a successor waits for nothing else.
   * Unless they show that this candidate is elected, or named in a handover, reads the leader's
   * record once more: that read is no older than the term.
   */
  async #confirm(knownTerm: Entry | undefined, entryKey: Key, call: CallOptions): Promise<CandidateEvent> {
    const { store, rules } = this.#context;
    const read = (key: Key): Promise<Entry | undefined> => store.read(key, call);
    if (knownTerm !== undefined) return { type: 'read', termEntry: knownTerm, leaderEntry: await read(rules.keys.leader) };
    const [termEntry, leaderEntry] = await Promise.all([read(rules.keys.term), read(rules.keys.leader)]);
    const lastTerm = tryRead(readTerm, termEntry);
    const isOver = lastTerm?.entry === entryKey && lastTerm.ended !== undefined;
    const isNamed = leaderEntry === undefined && lastTerm?.ended?.successor === entryKey;
    const isCertain = isNamed || (isRecordOf(leaderEntry, entryKey) && !isOver);
    return { type: 'read', termEntry, leaderEntry: isCertain ? leaderEntry : await read(rules.keys.leader) };
  }

  /**
   * Reads the queue and the term. If only the time of joining counts, reads only the entries just
   * ahead, so the cost does not grow with the queue. Right after the end of the leader ahead
   * (`goneAhead`), reads only the term. If that read lags behind, the store refuses the claim.
   */
  async #look({ entry, passed, goneAhead }: Extract<CandidateState, { phase: 'looking' }>, call: CallOptions): Promise<CandidateEvent> {
    const { store, rules } = this.#context;
    // The claim deletes the candidates that it passes over at the revisions that are read here.
    const values = passed === 'queue';
    const part = rules.succession.byArrival ? { before: entry, last: LOOK_AHEAD } : {};
    const [queue, termEntry] = await Promise.all([
      goneAhead === undefined ? store.list(rules.keys.candidates, { ...call, ...part, values }) : undefined,
      store.read(rules.keys.term, { ...call, fresh: goneAhead === undefined }),
    ]);
    const ownEntry = this.#watchEntry(entry).latest;
    if (queue !== undefined) this.#reportOthers(queue, entry);
    return { type: 'looked', queue, termEntry, ownEntry };
  }

  /**
   * Reports this member's other entries. A store that lost acknowledged writes shows deleted
   * entries again.
   */
  #reportOthers(queue: readonly Entry[], { key: ownKey, lease }: Entry): void {
    for (const { key, lease: boundTo } of queue) if (boundTo === lease && key !== ownKey) this.#context.onOtherEntry(key);
  }

  async #claim(state: Extract<CandidateState, { phase: 'claiming' }>): Promise<CandidateEvent> {
    const { self, rules, payload, terms } = this.#context;
    const { term, evict, termEntry } = state.claim;
    const claimed: ClaimFacts = { term, lost: terms.lostAt(termEntry), evicted: evict.map(({ key }) => key) };
    const earlier = this.#claimed;
    const changes = claimChanges(rules.keys, self, state.entry, state.claim, payload, this.#session.lease);
    const [, termChange] = changes;
    const termValue = termChange !== undefined && 'put' in termChange ? termChange.put : undefined;
    return this.#withPermit(async (call) => {
      this.#claimed = claimed;
      const sentMs = this.#context.clock.monotonic();
      try {
        const event = await this.#swap(changes, call);
        if (event.type !== 'swapped') this.#claimed = earlier;
        this.#reportClaim(state.claim, sentMs, event.type === 'swapped' ? 'elected' : 'refused');
        return event.type === 'swapped' ? { ...event, termValue } : event;
      } catch (error) {
        const isUnknown = outcomeOf(error) === 'unknown';
        if (!isUnknown) this.#claimed = earlier;
        this.#reportClaim(state.claim, sentMs, isUnknown ? 'unknown' : 'failed');
        throw error;
      }
    });
  }

  /** Reports what a claim that the store has applied shows: the store had checked all of it. */
  #reportApplied({ lost, evicted }: ClaimFacts): void {
    const { telemetry, election } = this.#context;
    if (lost !== undefined) telemetry.emit('termWentBack', { election, ...lost });
    if (evicted.length > 0) telemetry.emit('evicted', { election, keys: evicted });
  }

  #reportClaim({ term, termEntry }: Claim, sentMs: number, outcome: 'elected' | 'refused' | 'unknown' | 'failed'): void {
    const { telemetry, election, clock } = this.#context;
    if (!telemetry.wants('claimed')) return;
    const endedTerm = tryRead(readTerm, termEntry)?.term;
    telemetry.emit('claimed', { election, term, endedTerm, outcome, tookMs: clock.monotonic() - sentMs });
  }

  async #swap(changes: readonly Change[], call: CallOptions): Promise<CandidateEvent> {
    const result = await this.#context.store.compareAndSwap(changes, call);
    return result.swapped ? { type: 'swapped', revisions: result.revisions } : { type: 'notSwapped', failed: result.failed };
  }

  /**
   * Ends early when the caller gives up for the first time. After that, only the end of the session
   * ends a pause early, so a store that refuses at once is not called in a tight loop.
   */
  async #pause(delayMs: number): Promise<void> {
    const woken = new AbortController();
    const cancels = [this.#session.onEnd(() => endQuietly(woken))];
    if (!this.#stopped) cancels.push(onAbort(this.#context.halt, () => endQuietly(woken)));
    await sleep(this.#context.clock, delayMs, woken.signal);
    for (const cancel of cancels) cancel();
  }

  #wait(state: Extract<CandidateState, { phase: 'waiting' }>): Promise<CandidateEvent> {
    const entryWatch = this.#watchEntry(state.entry);
    this.#waiting = new CandidateWait(
      { ...this.#context, session: this.#session, calls: this.#calls, entryWatch, claimOutcomeUnknown: this.#claimOutcomeUnknown },
      state,
    );
    return this.#waiting.run();
  }

  #endWait(): void {
    this.#waiting?.end();
    this.#waiting = undefined;
  }

  #watchEntry(entry: Entry): KeyWatch {
    this.#entryWatch ??= new KeyWatch(watchContext(this.#context)).begin(entry.key, entry.revision);
    return this.#entryWatch;
  }
}
