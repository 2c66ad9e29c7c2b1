/**
 * Checks that telemetry reports the end of every leadership whose beginning it has reported, and no
 * other end.
 */

import type { Logger } from '@incumbent/core';
import { expect } from 'vitest';

type Log = Logger['info'];

/** The loggers of one test's members, one for each process. */
export class PairLogs {
  readonly #processes: { readonly memberId: string; readonly events: Map<string, string[]> }[] = [];

  /** A logger for one process. It passes everything on to `next`. */
  of(memberId: string, next?: Logger): Logger {
    const events = new Map<string, string[]>();
    this.#processes.push({ memberId, events });
    const see: Log = (fields, message) => {
      if (message === 'elected' || message === 'leadership ended') {
        const name = nameOf(fields);
        events.set(name, [...(events.get(name) ?? []), message]);
      }
    };
    const pass =
      (level: keyof Logger): Log =>
      (fields, message) => {
        see(fields, message);
        next?.[level](fields, message);
      };
    return { debug: pass('debug'), info: pass('info'), warn: pass('warn'), error: pass('error') };
  }

  /**
   * Each leadership whose events are anything but one `elected` and then one `ended`. Call it after
   * all members have closed.
   */
  get unpaired(): readonly string[] {
    return this.#processes.flatMap(({ memberId, events }) =>
      [...events].flatMap(([name, messages]) =>
        messages.join() === 'elected,leadership ended' ? [] : [`${name} of ${memberId}: ${messages.join(', ')}`],
      ),
    );
  }

  check(): void {
    expect(this.unpaired, 'leaderships whose elected and ended are no pair').toEqual([]);
  }
}

/** Which leadership an event is about: by its term or its round. */
function nameOf(fields: object): string {
  const term = 'term' in fields ? fields.term : undefined;
  const round = 'round' in fields ? fields.round : undefined;
  return JSON.stringify({ term, round });
}
