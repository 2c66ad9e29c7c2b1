/** How a session begins: with a lease, long enough to lead by. */

import { momentOf } from '../base/clock.ts';
import { IncumbentError } from '../base/errors.ts';
import { Session, type SessionContext } from './session.ts';
import type { Lease } from '../store/contract.ts';
import { beliefMs, oldestMs } from './timing.ts';

export interface OpeningContext extends SessionContext {
  readonly signal: AbortSignal;
  /** Aborts when no call may go on any more, not even one that cleans up. */
  readonly over: AbortSignal;
}

/** One attempt, `begin` being the rest of it. Fails as the store or `begin` fails; a session that was begun in vain is ended and its lease revoked. */
export async function openSession(
  context: OpeningContext,
  begin: (session: Session, ttlMs: number) => Promise<void> | void,
): Promise<Session> {
  const { store, clock, timing } = context;
  const lease = await store.grantLease(timing.ttlMs, { at: momentOf(clock), timeoutMs: timing.callTimeoutMs, signal: context.signal });
  const session = new Session(context, lease);
  session.start();
  try {
    checkGranted(context, lease);
    await begin(session, lease.ttlMs);
    context.telemetry.emit('sessionOpened', { lease: lease.id, ttlMs: lease.ttlMs, validForMs: session.remainingMs() });
    return session;
  } catch (error) {
    session.end('memberClosed');
    await store.revokeLease(lease.id, { timeoutMs: timing.callTimeoutMs, signal: context.over }).catch(() => {});
    session.settled();
    throw error;
  }
}

/** A lease shorter than was asked for may leave no time for two renewals before its deadline. */
function checkGranted({ store, timing }: OpeningContext, { ttlMs }: Lease): void {
  const renewEveryMs = timing.renewEveryMs * (ttlMs / timing.ttlMs);
  if (ttlMs >= timing.ttlMs || beliefMs(ttlMs, timing) >= oldestMs(renewEveryMs, ttlMs, store.capabilities) + renewEveryMs) return;
  throw new IncumbentError(
    'LEASE_TOO_SHORT',
    `asked for a lease of ${timing.ttlMs} ms, ${store.name} granted ${ttlMs} ms: too short to lead by`,
    {
      details: { askedMs: timing.ttlMs, grantedMs: ttlMs },
    },
  );
}
