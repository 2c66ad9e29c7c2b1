/**
 * Opens a member's first session: grants a lease and creates the key `members/<memberId>` under it.
 * Two processes cannot hold that key at the same time. After a restart, the key of the former
 * process stays until its lease ends.
 */

import { Backoff } from '../async/backoff.ts';
import { sleep } from '../async/sleep.ts';
import { IncumbentError } from '../base/errors.ts';
import { showText } from '../base/redact.ts';
import { memberKey } from '../protocol/keys.ts';
import { type MemberRecord, readMember, tryRead, writeMember } from '../protocol/record.ts';
import type { Entry, Key } from '../store/contract.ts';
import { keepWatching, untilGone, watchContext } from '../store/key-watch.ts';
import { type OpeningContext, openSession, type LeaseSession } from './session.ts';

/**
 * What a member does if another process holds its member id:
 * - `wait` waits until the other process's lease has ended. It waits for twice the ttl, or for the
 *   time that the store may take to end a lease, whichever is longer. Then it fails with
 *   `DUPLICATE_MEMBER`. If the store fails meanwhile, the wait begins anew, as a store may keep
 *   leases for longer then.
 * - `refuse` fails with `DUPLICATE_MEMBER` at once.
 * - `replace` takes the id over. The other process notices and ends its leaderships in order; from
 *   then on it fails with `DUPLICATE_MEMBER`. If it cannot notice, its lease expires.
 */
export type OnDuplicate = 'wait' | 'refuse' | 'replace';

/** What the opening of the first session needs. */
export interface MemberKeyContext extends OpeningContext {
  readonly memberId: string;
  readonly incarnation: string;
  /** What another process with the same id learns of this one. */
  readonly origin: Origin;
  readonly onDuplicate: OnDuplicate;
}

/** Where and when a process started, for the error of another process with the same member id. */
export type Origin = Pick<MemberRecord, 'host' | 'startedAt'>;

/**
 * Opens a session and takes the member's key, in one attempt. Rejects as the store does, or with
 * `DUPLICATE_MEMBER`; then it has ended the session and revoked the lease.
 */
export async function openFirstSession(context: MemberKeyContext): Promise<LeaseSession> {
  return openSession(context, async (session, ttlMs) => {
    const put = writeMember({ incarnation: context.incarnation, ttlMs, ...context.origin });
    await takeKey(context, session, put);
    watchKey(context, session, put);
  });
}

async function takeKey(context: MemberKeyContext, session: LeaseSession, put: Uint8Array): Promise<void> {
  const { store, timing, incarnation, signal } = context;
  const key = memberKey(context.memberId);
  let expected: Entry | undefined;
  for (;;) {
    const change = { key, expect: expected?.revision ?? null, put, lease: session.lease };
    const result = await store.compareAndSwap([change], { timeoutMs: timing.callTimeoutMs, signal });
    if (result.swapped) return;
    expected = result.failed[0]?.current;
    if (expected === undefined) continue;
    const holder = readMember(expected);
    if (holder.incarnation === incarnation) {
      // An earlier try was applied, and its answer was lost. Or the key is of this member's session
      // before, whose lease still lives: then the next try replaces the key.
      if (expected.lease === session.lease) return;
    } else if (context.onDuplicate !== 'replace') {
      await waitUntilFree(context, key, holder);
      expected = undefined;
    } else context.telemetry.emit('duplicateMember', { key, onDuplicate: 'replace', ...knownOrigin(holder) });
  }
}

/** Resolves when the other process's key is gone. Rejects with `DUPLICATE_MEMBER` if it stays. */
async function waitUntilFree(context: MemberKeyContext, key: Key, holder: MemberRecord): Promise<void> {
  const { ttlMs, incarnation } = holder;
  const { store, clock, onDuplicate, signal, telemetry, timing } = context;
  const longestMs = Math.max(ttlMs, timing.ttlMs);
  const longestWaitMs = onDuplicate === 'refuse' ? 0 : Math.max(2 * longestMs, store.capabilities.expiresWithinMs(longestMs));
  telemetry.emit('duplicateMember', { key, onDuplicate, longestWaitMs, ...knownOrigin(holder) });
  if (longestWaitMs > 0 && (await untilGone(store, clock, key, longestWaitMs, signal))) return;
  // The watch may not have worked, so read the key once more.
  const current = await store.read(key, { timeoutMs: timing.callTimeoutMs, signal });
  if (current === undefined || readMember(current).incarnation !== incarnation) return;
  const waited = longestWaitMs === 0 ? '' : `, and still does after a wait of ${(longestWaitMs / 1_000).toFixed(1)} s`;
  const what = `another process holds the member id "${context.memberId}"${originOf(holder, clock.wall())}${waited}`;
  throw duplicateError(context.memberId, what, { waitedMs: longestWaitMs, holder });
}

/** The error of a member whose id another process has taken (`onDuplicate: 'replace'`). */
export function replacedError(memberId: string): IncumbentError {
  return duplicateError(memberId, `another process has taken the member id "${memberId}"`, { waitedMs: 0 });
}

interface Duplicate {
  readonly waitedMs: number;
  readonly holder?: Origin;
}

function duplicateError(memberId: string, what: string, { waitedMs, holder = {} }: Duplicate): IncumbentError {
  return new IncumbentError('DUPLICATE_MEMBER', `${what}. ${CHOICES}`, { details: { memberId, waitedMs, ...knownOrigin(holder) } });
}

function knownOrigin({ host, startedAt }: Origin): Origin {
  return { ...(host === undefined ? {} : { host }), ...(startedAt === undefined ? {} : { startedAt }) };
}

const CHOICES =
  "Give each process its own memberId, or choose onDuplicate: with 'wait', a member waits until the lease of a former process has ended; " +
  "with 'refuse', it fails at once; with 'replace', it takes the id over";

/** The record is data of another process, so its text is quoted, and its clock may be wrong. */
function originOf({ host, startedAt }: Origin, now: number): string {
  const ageMs = startedAt === undefined ? Number.NaN : now - startedAt;
  const parts = [
    ...(host === undefined ? [] : [`on host ${showText(host).shown}`]),
    ...(ageMs >= 0 && ageMs < Infinity ? [`started ${showAge(ageMs)} ago`] : []),
  ];
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}

/** In the largest unit of which there are at least two. */
function showAge(ms: number): string {
  const units = [
    ['days', 86_400_000],
    ['hours', 3_600_000],
    ['minutes', 60_000],
  ] as const;
  const [unit, length] = units.find(([, unitMs]) => ms >= 2 * unitMs) ?? ['s', 1_000];
  return `${Math.floor(ms / length)} ${unit}`;
}

/**
 * Watches the member's own key. Ends the session if another process has taken the key. Creates the
 * key again if somebody deleted it.
 */
function watchKey(context: MemberKeyContext, session: LeaseSession, put: Uint8Array): void {
  let last = Promise.resolve();
  keepWatching(watchContext(context), memberKey(context.memberId), session.call.signal, (entry) => {
    if (!isMine(context, entry)) last = last.then(() => untilRestored(context, session, put));
  });
}

function isMine({ incarnation }: MemberKeyContext, entry: Entry | undefined): boolean {
  return tryRead(readMember, entry)?.incarnation === incarnation;
}

/**
 * Retries `restore` until it is certain who holds the key, or the session has ended. The state that
 * the watch showed may be outdated, so the store's answer decides.
 */
async function untilRestored(context: MemberKeyContext, session: LeaseSession, put: Uint8Array): Promise<void> {
  const { clock, random, timing, telemetry } = context;
  const backoff = new Backoff(random, timing.retryEveryMs, timing.ttlMs);
  while (session.ended === undefined) {
    try {
      if (await restore(context, session, put)) break;
    } catch (error) {
      session.callFailed(error);
      if (session.ended === undefined) telemetry.emitOften('retry', { doing: 'restoringMemberKey', error }, clock.monotonic());
    }
    await sleep(clock, backoff.next(), session.call.signal);
  }
}

/**
 * Makes one attempt to create the key again, after a renewal has shown that the lease is live. Ends
 * the session if another process has the key. True if nothing is left to do: the key is mine, or
 * the session has ended.
 */
async function restore(context: MemberKeyContext, session: LeaseSession, put: Uint8Array): Promise<boolean> {
  const { store } = context;
  // Usually the key is gone because the lease has ended.
  if (!(await session.check())) return true;
  const change = { key: memberKey(context.memberId), expect: null, put, lease: session.lease };
  const result = await store.compareAndSwap([change], session.call);
  if (result.swapped) return true;
  const current = result.failed[0]?.current;
  if (current !== undefined && !isMine(context, current)) session.end('replaced');
  return current !== undefined;
}
