/** Drives what follows the drain: a handover's swap, or the release of what a candidacy left in the store. */

import { Backoff } from '../async/backoff.ts';
import type { Lane } from '../async/semaphore.ts';
import { sleep } from '../async/sleep.ts';
import { isIncumbentError, isPassing, outcomeOf } from '../base/errors.ts';
import type { Session, SessionContext } from '../lease/session.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import { readTerm, tryRead } from '../protocol/record.ts';
import type { Heir } from '../protocol/succession.ts';
import { handoverInOne, handoverInTwo, isMarked, releaseChanges, type Remains } from '../protocol/transactions.ts';
import type { Change, Key } from '../store/contract.ts';
import { advance, type Tenure, type TenureEvent } from './release-machine.ts';

export interface ReleaseContext extends SessionContext {
  readonly keys: ElectionKeys;
  /** The candidacy's entry, by which it knows what is its own. */
  readonly mark: Key;
  readonly session: Session;
  readonly lane: Lane;
}

export type Released = Extract<Tenure, { phase: 'released' }>;

/**
 * From the end of the drain until nothing of the candidacy is left, or what is left goes with the lease, or cannot be helped (`left`). Begins with what is
 * `known` to be there, so that a plain end is one swap; where the store has something else, the swap is refused, and the next one rests on what is read.
 */
export async function release(context: ReleaseContext, from: Tenure, known?: Remains): Promise<Released> {
  const { session, clock, random, timing } = context;
  const backoff = new Backoff(random, timing.retryEveryMs, timing.ttlMs / 4);
  let tenure = known === undefined ? from : advance(from, { type: 'remains', remains: known });
  let first = known;
  while (tenure.phase !== 'released') {
    const event: TenureEvent = session.ended === undefined ? await perform(context, tenure, first) : { type: 'leaseOver' };
    first = undefined;
    if (event.type === 'failed') await sleep(clock, backoff.next(), session.call.signal);
    tenure = advance(tenure, event);
  }
  return tenure;
}

async function perform(context: ReleaseContext, tenure: Tenure, known: Remains | undefined): Promise<TenureEvent> {
  try {
    return await context.lane.run(() => act(context, tenure, known), 2);
  } catch (error) {
    if (context.session.ended !== undefined) return { type: 'leaseOver' };
    context.session.note(error);
    // A handover binds to the heir's lease: it is the heir's that is gone.
    if (!isPassing(error) || isIncumbentError(error, 'LEASE_EXPIRED')) return { type: 'refused' };
    context.telemetry.emit('retry', { doing: tenure.phase, error });
    return { type: 'failed', unknown: outcomeOf(error) === 'unknown' };
  }
}

async function act(context: ReleaseContext, tenure: Tenure, known: Remains | undefined): Promise<TenureEvent> {
  switch (tenure.phase) {
    case 'handingOver':
      return handOver(context, tenure.heir, known);
    case 'checking':
      return check(context, tenure.heir);
    case 'releasing': {
      const { remains, reason } = tenure;
      if (remains === undefined) return { type: 'remains', remains: await read(context) };
      const changes = releaseChanges(context.keys, context.mark, remains, { reason });
      return changes.length === 0 ? { type: 'swapped' } : swap(context, changes);
    }
    case 'leading':
    case 'draining':
    case 'released':
      throw new TypeError(`nothing is released when ${tenure.phase}`);
    default:
      return tenure satisfies never;
  }
}

async function swap(context: ReleaseContext, changes: readonly Change[]): Promise<TenureEvent> {
  const result = await context.store.compareAndSwap(changes, context.session.call);
  return { type: result.swapped ? 'swapped' : 'notSwapped' };
}

/** On what is in the store, as known or as read: a publish of mine may have been applied late, and my entry bear the mark of the handover that elected me. */
async function handOver(context: ReleaseContext, heir: Heir, known: Remains | undefined): Promise<TenureEvent> {
  const { store, keys, mark } = context;
  const { leader, term, entry } = known ?? (await read(context));
  if (leader === undefined || term === undefined || entry === undefined) return { type: 'notSwapped' };
  if (!isMarked(leader, mark) || readTerm(term).entry !== mark) return { type: 'notSwapped' };
  const self = { memberId: heir.memberId, incarnation: heir.incarnation };
  const handover = { keys, leader, term, entry, heir: { entry: heir.entry, self, first: heir.first } };
  const { lease } = heir.entry;
  const inOne = store.capabilities.assignableLease && lease !== undefined;
  return swap(context, inOne ? handoverInOne(handover, lease) : handoverInTwo(handover));
}

/** Who has the term now, and whether the heir is still there to be given it. */
async function check(context: ReleaseContext, heir: Heir): Promise<TenureEvent> {
  const { keys, mark, store } = context;
  const [heirEntry, termEntry] = [
    await store.read(heir.entry.key, context.session.call),
    await store.read(keys.term, context.session.call),
  ];
  const term = tryRead(readTerm, termEntry);
  const heirHasIt = term?.entry === heir.entry.key || term?.ended?.heir === heir.entry.key;
  const stillMine = term?.entry === mark && term.ended === undefined;
  return { type: 'checked', heirHasIt, heir: stillMine && heirEntry !== undefined ? { ...heir, entry: heirEntry } : undefined };
}

/** The leader's record last: what it shows then is no older than what the term told. */
async function read(context: ReleaseContext): Promise<Remains> {
  const { store, keys, mark } = context;
  const [term, entry] = await Promise.all([store.read(keys.term, context.session.call), store.read(mark, context.session.call)]);
  return { term, entry, leader: await store.read(keys.leader, context.session.call) };
}
