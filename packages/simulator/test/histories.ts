/** Made-up histories for checkers. */

import type { Checker } from '../src/check/checker.ts';
import type { LeadershipView, WorldEvent } from '../src/world/event.ts';
import type { RunState } from '../src/time/process.ts';

export interface Planted extends LeadershipView {
  readonly process: { readonly name: string; state: RunState };
  valid: boolean;
}

export const election = 'jobs';

export function processOf(name: string): { readonly name: string; state: RunState } {
  return { name, state: 'running' };
}

export function handleOf(name: string, term: bigint): Planted {
  const handle: Planted = {
    process: processOf(name),
    election,
    term,
    waits: true,
    valid: true,
    isValid: () => handle.valid,
    remainingMs: () => (handle.valid ? 100 : 0),
    get state() {
      return handle.valid ? 'valid' : 'ended';
    },
  };
  return handle;
}

export function issued(term: bigint, memberId = 'a'): WorldEvent {
  return { type: 'issued', election, term, memberId, by: `${memberId}#1` };
}

export function gone(term: bigint, by: 'expiry' | 'revoke' | 'operator' | 'store'): WorldEvent {
  return { type: 'recordGone', election, term, cause: by === 'revoke' ? { by, owner: 'a#1' } : { by } };
}

export function leaseEnded(target: string): WorldEvent {
  return { type: 'faultInjected', kind: 'endLease', target };
}

/** Tells a checker one event each 10 ms, and returns the promises that were broken. */
export function broken(checker: Checker, ...events: readonly (WorldEvent | (() => void))[]): readonly string[] {
  events.forEach((event, index) => (typeof event === 'function' ? event() : checker.onEvent(event, index * 10)));
  return checker.findings.all.map(({ promise }) => promise);
}
