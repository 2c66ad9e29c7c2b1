/** Converts the events that members emitted to a history for the checker. */

import assert from 'node:assert/strict';
import { checkHistory, type HistoryEvent } from '@incumbent/conformance';
import type { ScriptEvent, ScriptProcess } from '@incumbent/test-support';

const NS_PER_MS = 1e6;

/** A process's clock reading, in ms. */
export function ms(ns: bigint): number {
  return Number(ns) / NS_PER_MS;
}

export function now(): number {
  return ms(process.hrtime.bigint());
}

function bigintOf(value: unknown): bigint {
  return BigInt(String(value));
}

function wordOf(value: unknown): 'elected' | 'ended' {
  if (value === 'elected' || value === 'ended') return value;
  throw new TypeError(`telemetry reported ${String(value)} for a leadership`);
}

/** A process of a member, and when it was killed. */
export interface ProcessRun {
  /** The member, as the history names it. */
  readonly name: string;
  readonly script: ScriptProcess;
  died?: number;
}

/**
 * What these members emitted, the kills of their processes included. It keeps every promise, and
 * nothing was printed.
 */
export function checkedHistoryOf(lives: readonly ProcessRun[], election: string): readonly HistoryEvent[] {
  const events = lives.flatMap(({ name, script, died }): readonly HistoryEvent[] => [
    ...historyOf(script, name, election),
    ...(died === undefined ? [] : [{ type: 'died' as const, at: died, member: name }]),
  ]);
  assert.deepEqual(checkHistory(events, { unfinished: true }), []);
  assert.deepEqual(
    lives.flatMap(({ script }) => script.output),
    [],
  );
  return events;
}

/** The events of this member. `election`: that of the events that name none. */
export function historyOf(script: Pick<ScriptProcess, 'events'>, member: string, election: string): readonly HistoryEvent[] {
  const isElected = ({ event, fields }: ScriptEvent): boolean => event === 'telemetry' && fields['word'] === 'elected';
  const reported = new Set(script.events.filter(isElected).map(({ fields }) => fields['term']));
  const led = script.events.flatMap(({ event, fields }) => (event === 'elected' ? [fields['term']] : []));
  assert.deepEqual(
    led.filter((term) => !reported.has(term)),
    [],
    `telemetry reported every term of ${member}`,
  );
  return script.events.flatMap(({ event, at, fields }): HistoryEvent[] => {
    const own = fields['election'];
    const about = { election: typeof own === 'string' ? own : election, member, term: bigintOf(fields['term'] ?? 0) };
    switch (event) {
      case 'elected':
        return [{ type: 'elected', at: ms(at), ...about }];
      case 'valid':
        return [{ type: 'valid', at: ms(bigintOf(fields['from'])), ...about }];
      case 'ended':
        return [{ type: 'ended', at: ms(at), ...about, reason: String(fields['reason']) }];
      case 'telemetry':
        return [{ type: 'reported', event: wordOf(fields['word']), at: ms(at), ...about }];
      default:
        return [];
    }
  });
}
