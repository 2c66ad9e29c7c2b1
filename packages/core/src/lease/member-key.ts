/**
 * Opens a member's first session: grants a lease and creates the key `members/<memberId>` under it.
 * Two processes cannot hold that key at the same time. After a restart, the key of the former
 * process stays until its lease ends.
 */

import { Backoff } from '../async/backoff.ts';
import { sleep } from '../async/sleep.ts';
import { IncumbentError } from '../base/errors.ts';
import { memberKey } from '../protocol/keys.ts';
import { type MemberRecord, readMember, tryRead, writeMember } from '../protocol/record.ts';
import type { Entry, Key } from '../store/contract.ts';
import { keepWatching, untilGone } from '../store/key-watch.ts';
import { type OpeningContext, openSession, type LeaseSession, watchContext } from './session.ts';

/**
 * What a member does if another process holds its member id:
 * - `wait` waits until the other process's lease has ended. It waits for twice the ttl, or for the
 *   time that the store may take to end a lease, whichever is longer. Then it fails with
 *   `DUPLICATE_MEMBER`.
 * - `refuse` fails with `DUPLICATE_MEMBER` at once.
 * - `replace` takes the id over. The other process notices and ends its leaderships in order; from
 *   then on it fails with `DUPLICATE_MEMBER`. If it cannot notice, its lease expires.
 */
export type OnDuplicate = 'wait' | 'refuse' | 'replace';

/** What the registration needs. */
export interface MemberKeyContext extends OpeningContext {
  readonly memberId: string;
  readonly incarnation: string;
  readonly onDuplicate: OnDuplicate;
}

/**
 * Opens a session and takes the member's key, in one attempt. Rejects as the store does, or with
 * `DUPLICATE_MEMBER`; then it has ended the session and revoked the lease.
 */
export async function register(context: MemberKeyContext): Promise<LeaseSession> {
  return openSession(context, async (session, ttlMs) => {
    const put = writeMember({ incarnation: context.incarnation, ttlMs });
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
      if (expected.lease === session.lease) return;
    } else if (context.onDuplicate !== 'replace') {
      await waitFor(context, key, holder);
      expected = undefined;
    } else context.telemetry.emit('duplicateMember', { key, onDuplicate: 'replace' });
  }
}

/** Resolves when the other process's key is gone. Rejects with `DUPLICATE_MEMBER` if it stays. */
async function waitFor(context: MemberKeyContext, key: Key, { ttlMs, incarnation }: MemberRecord): Promise<void> {
  const { store, clock, onDuplicate, signal, telemetry, timing } = context;
  telemetry.emit('duplicateMember', { key, onDuplicate });
  const longestMs = Math.max(ttlMs, timing.ttlMs);
  const longestWaitMs = onDuplicate === 'refuse' ? 0 : Math.max(2 * longestMs, store.capabilities.expiresWithinMs(longestMs));
  if (longestWaitMs > 0 && (await untilGone(store, clock, key, longestWaitMs, signal))) return;
  // The watch may not have worked, so read the key once more.
  const current = await store.read(key, { timeoutMs: timing.callTimeoutMs, signal });
  if (current === undefined || readMember(current).incarnation !== incarnation) return;
  throw duplicate(context.memberId, longestWaitMs);
}

/** The error of a member whose id another process holds. */
export function duplicate(memberId: string, waitedMs: number): IncumbentError {
  return new IncumbentError('DUPLICATE_MEMBER', `another process holds the member id "${memberId}"`, { details: { memberId, waitedMs } });
}

/**
 * Watches the member's own key. Ends the session if another process has taken the key. Creates the
 * key again if somebody deleted it.
 */
function watchKey(context: MemberKeyContext, session: LeaseSession, put: Uint8Array): void {
  let last = Promise.resolve();
  keepWatching(watchContext(context), memberKey(context.memberId), session.call.signal, (entry) => {
    if (!isMine(context, entry)) last = last.then(() => keep(context, session, put));
  });
}

function isMine({ incarnation }: MemberKeyContext, entry: Entry | undefined): boolean {
  return tryRead(readMember, entry)?.incarnation === incarnation;
}

/**
 * Retries `restore` until it is certain who holds the key, or the session has ended. The state that
 * the watch showed may be outdated, so the store's answer decides.
 */
async function keep(context: MemberKeyContext, session: LeaseSession, put: Uint8Array): Promise<void> {
  const { clock, random, timing, telemetry } = context;
  const backoff = new Backoff(random, timing.retryEveryMs, timing.ttlMs);
  while (session.ended === undefined) {
    try {
      if (await restore(context, session, put)) break;
    } catch (error) {
      session.noteOwn(error);
      if (session.ended === undefined) telemetry.emit('retry', { doing: 'restoringMemberKey', error });
    }
    await sleep(clock, backoff.next(), session.call.signal);
  }
}

/** True if the key is mine, or the session has ended, also because another process has the key. */
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
