/**
 * How a member comes by a session: a lease, and under it the key `members/<memberId>`, which no two
 * processes hold at once. A restarted process meets the key of its former process, whose lease runs
 * on for a while.
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
 * What to do when another process holds the member id: `wait` for its lease to end, at most twice
 * its ttl, or as long as the store may keep it; `refuse` at once; or `replace` it: it learns that
 * its id was taken, and stops in order; what cannot be told loses its lease as if it had died.
 * `wait` and `refuse` fail with `DUPLICATE_MEMBER`, and so does a process that was replaced.
 */
export type OnDuplicate = 'wait' | 'refuse' | 'replace';

export interface MemberKeyContext extends OpeningContext {
  readonly memberId: string;
  readonly incarnation: string;
  readonly onDuplicate: OnDuplicate;
}

/**
 * One attempt. Fails as the store fails; a session whose registration failed is ended and its lease
 * revoked.
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

/** Returns when the other process's key is gone. */
async function waitFor(context: MemberKeyContext, key: Key, { ttlMs, incarnation }: MemberRecord): Promise<void> {
  const { store, clock, onDuplicate, signal, telemetry, timing } = context;
  telemetry.emit('duplicateMember', { key, onDuplicate });
  const longestMs = Math.max(ttlMs, timing.ttlMs);
  const longestWaitMs = onDuplicate === 'refuse' ? 0 : Math.max(2 * longestMs, store.capabilities.expiresWithinMs(longestMs));
  if (longestWaitMs > 0 && (await untilGone(store, clock, key, longestWaitMs, signal))) return;
  // The watch may have been blind all the while.
  const current = await store.read(key, { timeoutMs: timing.callTimeoutMs, signal });
  if (current === undefined || readMember(current).incarnation !== incarnation) return;
  throw duplicate(context.memberId, longestWaitMs);
}

export function duplicate(memberId: string, waitedMs: number): IncumbentError {
  return new IncumbentError('DUPLICATE_MEMBER', `another process holds the member id "${memberId}"`, { details: { memberId, waitedMs } });
}

/**
 * Whoever finds its id taken by another process stops in order. One whose key was merely deleted
 * puts it there again.
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
 * Tries until it is certain whose the key is, or the session is over. What the watch has shown may
 * have passed: the store's answer counts.
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

/** Whether it is settled: the key is mine, or another's and the session has ended. */
async function restore(context: MemberKeyContext, session: LeaseSession, put: Uint8Array): Promise<boolean> {
  const { store } = context;
  // More often than not it went with the lease.
  if (!(await session.check())) return true;
  const change = { key: memberKey(context.memberId), expect: null, put, lease: session.lease };
  const result = await store.compareAndSwap([change], session.call);
  if (result.swapped) return true;
  const current = result.failed[0]?.current;
  if (current !== undefined && !isMine(context, current)) session.end('replaced');
  return current !== undefined;
}
