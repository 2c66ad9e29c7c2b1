/** Checks that telemetry tells the end of every leadership whose beginning it has told, and no other end. */

import type { LoggedEvent } from './events.ts';

/** Each election and term whose events are anything but one `elected` and then one `ended`. */
export function unpaired(events: readonly LoggedEvent[]): readonly string[] {
  const told = new Map<string, string[]>();
  for (const { message, fields } of events) {
    if (message !== 'elected' && message !== 'leadership ended') continue;
    const name = `${String(fields['election'])}, term ${String(fields['term'])}`;
    told.set(name, [...(told.get(name) ?? []), message]);
  }
  return [...told].flatMap(([name, messages]) =>
    messages.join() === 'elected,leadership ended' ? [] : [`${name}: ${messages.join(', ')}`],
  );
}
