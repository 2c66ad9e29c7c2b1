/** Checks that telemetry tells the end of every leadership whose beginning it has told, and no other end. */

import type { LoggedEvent } from './events.ts';

/**
 * Each leadership whose events are anything but one `elected` and then one `ended`. A leadership is one process's term of one
 * election. The process is part of its name because a test may delete the term key: the terms then begin anew, and two
 * processes may each be elected in term 1. That no term has two leaders otherwise is checked elsewhere.
 */
export function unpaired(events: readonly LoggedEvent[]): readonly string[] {
  const told = new Map<string, string[]>();
  for (const { message, fields } of events) {
    if (message !== 'elected' && message !== 'leadership ended') continue;
    const { election, term, memberId, incarnation } = fields;
    const name = `${String(election)}, term ${String(term)} of ${String(memberId)} (${String(incarnation)})`;
    told.set(name, [...(told.get(name) ?? []), message]);
  }
  return [...told].flatMap(([name, messages]) =>
    messages.join() === 'elected,leadership ended' ? [] : [`${name}: ${messages.join(', ')}`],
  );
}
