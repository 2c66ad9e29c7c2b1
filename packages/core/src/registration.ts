/**
 * How a member comes by a session: a lease, and under it the key `members/<memberId>`, which no two processes hold at once. A restarted process
 * meets the key of its former self, whose lease runs on for a while.
 */

import { momentOf } from './clock.ts';
import { IncumbentError } from './errors.ts';
import { memberKey } from './keys.ts';
import { readMember, writeMember } from './record.ts';
import { Session, type SessionContext } from './session.ts';
import type { Entry, Key, LeaseId } from './store.ts';
import { untilGone } from './waits.ts';

/**
 * What to do when another process holds the member id: `wait` for its lease to end, at most twice its ttl; `refuse` at once; or `replace`,
 * which revokes its lease and keeps from claiming until its ttl is over. `wait` and `refuse` fail with `DUPLICATE_MEMBER`.
 */
export type OnDuplicate = 'wait' | 'refuse' | 'replace';

export interface RegistrationContext extends SessionContext {
  readonly memberId: string;
  readonly incarnation: string;
  readonly onDuplicate: OnDuplicate;
  readonly signal: AbortSignal;
}

export interface Registered {
  readonly session: Session;
  /** No claim before this moment of the monotonic clock: a replaced process may believe until then. */
  readonly claimFrom: number;
}

/** One attempt. Fails as the store fails; a session whose registration failed is ended and its lease revoked. */
export async function register(context: RegistrationContext): Promise<Registered> {
  const { store, clock, timing } = context;
  const lease = await store.grantLease(timing.ttlMs, { at: momentOf(clock), timeoutMs: timing.callTimeoutMs, signal: context.signal });
  const session = new Session(context, lease);
  session.start();
  try {
    const claimFrom = await takeKey(context, session);
    context.telemetry.emit('sessionOpened', { lease: lease.id, ttlMs: lease.ttlMs });
    return { session, claimFrom };
  } catch (error) {
    session.end('memberClosed');
    await store.revokeLease(lease.id, { timeoutMs: timing.callTimeoutMs }).catch(() => {});
    throw error;
  }
}

async function takeKey(context: RegistrationContext, session: Session): Promise<number> {
  const { store, clock, timing, incarnation, signal } = context;
  const key = memberKey(context.memberId);
  let expected: Entry | undefined;
  let claimFrom = 0;
  for (;;) {
    const put = writeMember({ incarnation, ttlMs: timing.ttlMs });
    const change = { key, expect: expected?.revision ?? null, put, lease: session.lease };
    const result = await store.compareAndSwap([change], { timeoutMs: timing.callTimeoutMs, signal });
    if (result.swapped) return claimFrom;
    const current = result.failed[0]?.current;
    expected = undefined;
    if (current === undefined) continue;
    const holder = readMember(current);
    if (holder.incarnation === incarnation) {
      if (current.lease === session.lease) return claimFrom;
      expected = current;
      continue;
    }
    await yieldTo(context, key, current, holder.ttlMs);
    if (context.onDuplicate === 'replace') claimFrom = clock.monotonic() + holder.ttlMs * (1 + 2 * timing.clockErrorRatio);
  }
}

/** Returns when the other process's key is gone. */
async function yieldTo(context: RegistrationContext, key: Key, current: Entry, ttlMs: number): Promise<void> {
  const { store, clock, onDuplicate, signal, telemetry, timing } = context;
  telemetry.emit('duplicateMember', { key, onDuplicate });
  if (onDuplicate === 'replace') return revoke(context, current.lease);
  const patienceMs = onDuplicate === 'refuse' ? 0 : 2 * Math.max(ttlMs, timing.ttlMs);
  if (patienceMs > 0 && (await untilGone(store, clock, key, patienceMs, signal))) return;
  throw new IncumbentError('DUPLICATE_MEMBER', `another process holds the member id "${context.memberId}"`, {
    details: { memberId: context.memberId, waitedMs: patienceMs },
  });
}

async function revoke(context: RegistrationContext, lease: LeaseId | undefined): Promise<void> {
  if (lease === undefined) return;
  await context.store.revokeLease(lease, { timeoutMs: context.timing.callTimeoutMs, signal: context.signal });
}
