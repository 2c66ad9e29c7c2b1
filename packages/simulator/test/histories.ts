/** Histories that are made up, for checkers to be told. */

import type { Checker } from '../src/check/checker.ts';
import type { Handle, WorldEvent } from '../src/world/event.ts';
import type { RunState } from '../src/time/process.ts';

export interface Planted extends Handle {
  readonly body: { readonly name: string; state: RunState };
  believes: boolean;
}

export const election = 'jobs';

export function bodyOf(name: string): { readonly name: string; state: RunState } {
  return { name, state: 'running' };
}

export function handleOf(name: string, term: bigint): Planted {
  const handle = { body: bodyOf(name), election, term, waits: true, believes: true, isValid: () => handle.believes };
  return handle;
}

export function issued(term: bigint, memberId = 'a'): WorldEvent {
  return { type: 'issued', election, term, memberId, by: `${memberId}#1` };
}

export function gone(term: bigint, by: 'expiry' | 'revoke' | 'operator' | 'store'): WorldEvent {
  return { type: 'recordGone', election, term, cause: by === 'revoke' ? { by, owner: 'a#1' } : { by } };
}

/** Tells a checker one event each 10 ms, and returns the promises that were broken. */
export function told(checker: Checker, ...events: readonly (WorldEvent | (() => void))[]): readonly string[] {
  events.forEach((event, index) => (typeof event === 'function' ? event() : checker.see(event, index * 10)));
  return checker.violations.map(({ promise }) => promise);
}
