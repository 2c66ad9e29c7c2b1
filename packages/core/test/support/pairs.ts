/** Checks that each event `elected` is followed by one event `ended`. */

import type { LoggedEvent } from './events.ts';

/**
 * Returns each leadership whose events are not one `elected` and then one `ended`. A leadership is
 * the term of one process in one election. The process is part of its name, because terms start
 * again if a test deletes the key `term`.
 */
export function unpaired(events: readonly LoggedEvent[]): readonly string[] {
  const emitted = new Map<string, string[]>();
  for (const { message, fields } of events) {
    if (message !== 'elected' && message !== 'leadership ended') continue;
    const { election, term, memberId, incarnation } = fields;
    const name = `${String(election)}, term ${String(term)} of ${String(memberId)} (${String(incarnation)})`;
    emitted.set(name, [...(emitted.get(name) ?? []), message]);
  }
  return [...emitted].flatMap(([name, messages]) =>
    messages.join() === 'elected,leadership ended' ? [] : [`${name}: ${messages.join(', ')}`],
  );
}
