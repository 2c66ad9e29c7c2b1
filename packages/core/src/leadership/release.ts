/**
 * Makes the calls after the drain: the swap of a handover, or the calls that remove the keys of a
 * campaign from the store.
 */

import { Backoff } from '../async/backoff.ts';
import type { Semaphore } from '../async/semaphore.ts';
import { sleep } from '../async/sleep.ts';
import { isIncumbentError, isRetryable, outcomeOf } from '../base/errors.ts';
import type { LeaseSession, SessionContext } from '../lease/session.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import { readTerm, tryRead } from '../protocol/record.ts';
import type { Successor } from '../protocol/succession.ts';
import {
  handoverInOne,
  handoverInTwo,
  isTermOf,
  releaseChanges,
  remainingLeader,
  type Remains,
  type Won,
} from '../protocol/transactions.ts';
import type { Change, Key } from '../store/contract.ts';
import type { KeyWatch } from '../store/key-watch.ts';
import type { LeaderRecordContext } from './leader-record.ts';
import { transition, type ReleaseState, type ReleaseEvent } from './release-machine.ts';

/** What a release needs. */
export interface ReleaseContext extends SessionContext {
  readonly keys: ElectionKeys;
  /** The key of the campaign's entry, which identifies its records. */
  readonly entryKey: Key;
  readonly session: LeaseSession;
  readonly semaphore: Semaphore;
  /** Reads the queue for the next in succession. Absent for orphans, which have no successor. */
  readonly findNext?: () => Promise<Successor | undefined>;
}

/** The result of a release. */
export type Released = Extract<ReleaseState, { phase: 'released' }>;

/** @internal What a member passes to its leaderships. */
export interface LeadershipContext extends LeaderRecordContext {
  readonly semaphore: Semaphore;
}

/** @internal What a leadership starts with. */
export interface LeadershipInit {
  readonly session: LeaseSession;
  readonly won: Won;
  /** The watch on its own entry. The leadership takes it over from the campaign, and ends it. */
  readonly entryWatch: KeyWatch;
  /** Called with each other entry of this member that is read in the queue. */
  readonly onOtherEntry: (key: Key) => void;
  /**
   * Called once, when the release is over: the store holds nothing of the term, or refuses to
   * remove the rest.
   */
  readonly onReleased: (released: Released) => void;
}

/** The states that make a call to the store. */
type ActiveRelease = Exclude<ReleaseState, { phase: 'leading' | 'draining' | 'released' }>;

interface Attempt {
  /** The state of the keys, if it is known without a read. */
  readonly known: Remains | undefined;
  /** From this moment on, a failure counts as a refusal. */
  readonly giveUpAtMs: number;
}

/**
 * Runs from the end of the drain until the store holds nothing of the campaign, or the session has
 * ended and its keys go with the lease, or the store refuses to delete the keys (`left`). A call
 * that still fails after a ttl counts as refused: such a store still renews leases, but it applies
 * no changes.
 *
 * `known` is the state of the keys, if it is known without a read: then a plain resignation is one
 * swap. If that state is outdated, the store refuses the swap, and the keys are read.
 */
export async function release(context: ReleaseContext, from: ReleaseState, known?: Remains): Promise<Released> {
  const { session, clock, random, timing } = context;
  const backoff = new Backoff(random, timing.retryEveryMs, timing.ttlMs / 4);
  const giveUpAtMs = clock.monotonic() + timing.ttlMs;
  let state = known === undefined ? from : transition(from, { type: 'remains', remains: known });
  let first = known;
  while (state.phase !== 'released') {
    if (state.phase === 'leading' || state.phase === 'draining') throw new TypeError(`nothing is released while ${state.phase}`);
    const event: ReleaseEvent =
      session.ended === undefined ? await perform(context, state, { known: first, giveUpAtMs }) : { type: 'leaseOver' };
    first = undefined;
    if (event.type === 'failed') await sleep(clock, backoff.next(), session.call.signal);
    state = transition(state, event);
  }
  return state;
}

async function perform(context: ReleaseContext, state: ActiveRelease, { known, giveUpAtMs }: Attempt): Promise<ReleaseEvent> {
  const { clock, session, telemetry } = context;
  try {
    return await context.semaphore.run(() => act(context, state, known), 2);
  } catch (error) {
    if (session.ended !== undefined) return { type: 'leaseOver' };
    session.keepError(error);
    // This session lives, so the lease that has expired is the successor's, to which the swap of a
    // handover binds the record.
    if (!isRetryable(error) || isIncumbentError(error, 'LEASE_EXPIRED')) return { type: 'refused' };
    telemetry.emitOften('retry', { doing: state.phase, error }, clock.monotonic());
    if (clock.monotonic() >= giveUpAtMs) return { type: 'refused' };
    return { type: 'failed', unknown: outcomeOf(error) === 'unknown' };
  }
}

async function act(context: ReleaseContext, state: ActiveRelease, known: Remains | undefined): Promise<ReleaseEvent> {
  switch (state.phase) {
    case 'handingOver':
      return handOver(context, state, known);
    case 'checking':
      return check(context, state.successor);
    case 'looking':
      return { type: 'looked', successor: await context.findNext?.() };
    case 'releasing': {
      const { remains, reason } = state;
      if (remains === undefined) return { type: 'remains', remains: await read(context) };
      const changes = releaseChanges(context.keys, context.entryKey, remains, { reason });
      return changes.length === 0 ? { type: 'swapped' } : swap(context, changes);
    }
    default:
      return state satisfies never;
  }
}

async function swap(context: ReleaseContext, changes: readonly Change[]): Promise<ReleaseEvent> {
  const result = await context.store.compareAndSwap(changes, context.session.call);
  return { type: result.swapped ? 'swapped' : 'notSwapped' };
}

/**
 * Uses the known state, or reads it: the store may have applied a late publish of this leadership,
 * and the leader's entry may name the handover that elected it.
 */
async function handOver(
  context: ReleaseContext,
  { successor, reason }: Extract<ReleaseState, { phase: 'handingOver' }>,
  known: Remains | undefined,
): Promise<ReleaseEvent> {
  const { store, keys, entryKey } = context;
  const { leader, termEntry, entry } = known ?? (await read(context));
  if (leader === undefined || termEntry === undefined || entry === undefined) return { type: 'notSwapped' };
  if (leader.entry !== entryKey || readTerm(termEntry).entry !== entryKey) return { type: 'notSwapped' };
  // The record of the term says `handover` if a member that closes has found a successor.
  const handover = { keys, leader, termEntry, entry, successor, reason: reason === 'memberClosed' ? 'handover' : reason };
  const { lease } = successor.entry;
  const inOne = store.capabilities.assignableLease && lease !== undefined;
  return swap(context, inOne ? handoverInOne(handover, lease) : handoverInTwo(handover));
}

/** Reads who has the term, and whether the successor is still in the queue. */
async function check(context: ReleaseContext, successor: Successor): Promise<ReleaseEvent> {
  const { keys, entryKey, store } = context;
  const successorEntry = await store.read(successor.entry.key, context.session.call);
  const termEntry = await store.read(keys.term, context.session.call);
  const lastTerm = tryRead(readTerm, termEntry);
  const successorHasTerm = lastTerm?.entry === successor.entry.key || lastTerm?.ended?.successor === successor.entry.key;
  return {
    type: 'checked',
    successorHasTerm,
    successor: isTermOf(termEntry, entryKey) && successorEntry !== undefined ? { ...successor, entry: successorEntry } : undefined,
  };
}

/** Reads the leader's record last, so that the record is no older than the term. */
async function read(context: ReleaseContext): Promise<Remains> {
  const { store, keys, entryKey } = context;
  const [termEntry, entry] = await Promise.all([store.read(keys.term, context.session.call), store.read(entryKey, context.session.call)]);
  return { termEntry, entry, leader: remainingLeader(await store.read(keys.leader, context.session.call)) };
}
