import type { ScriptEvent } from '@incumbent/test-support';
import type { ChaosEvent, View, Who } from './history.ts';

/**
 * Converts a member's report to an event of the history. Undefined for reports that are only
 * informative.
 */
export function read({ event, at: ns, fields }: ScriptEvent, who: Who, ms: (ns: bigint) => number): ChaosEvent | undefined {
  const at = ms(ns);
  const number = (name: string): number => Number(fields[name]);
  const bigint = (name: string): bigint => BigInt(String(fields[name]));
  switch (event) {
    case 'elected':
      return { type: event, at: ms(bigint('from')), who, term: bigint('term') };
    case 'valid':
      return { type: event, from: ms(bigint('from')), at: ms(bigint('last')), who, term: bigint('term') };
    case 'ended': {
      const { reason, lost } = fields;
      const figures = { renewedMsAgo: number('renewedMsAgo'), loopBlockedMs: number('loopBlockedMs') };
      return { type: event, at, who, term: bigint('term'), reason: String(reason), lost: lost === true, ...figures };
    }
    case 'announced': {
      const { lease } = fields;
      const about = fields['what'] === 'elected' ? 'elected' : 'ended';
      return { type: event, at, who, what: about, term: bigint('term'), ...(typeof lease === 'string' ? { lease } : {}) };
    }
    case 'renewed':
      return { type: event, from: ms(bigint('from')), at, who, lease: String(fields['lease']), ttlMs: number('ttlMs') };
    case 'closed':
      return { type: event, at, who };
    case 'stopped':
      return { type: event, at, who, term: bigint('term') };
    case 'swapped':
      return {
        type: event,
        from: ms(bigint('from')),
        at,
        who,
        term: bigint('term'),
        n: number('n'),
        outcome: outcomeOf(fields['outcome']),
      };
    case 'shown':
      return { type: event, at, who, ...viewOf(fields) };
    case 'answered':
      return { type: event, at, who, view: viewOf(fields['view']), read: fields['read'] === undefined ? undefined : bigint('read') };
    case 'jumped':
      return { type: event, at, who, byMs: number('byMs') };
    case 'failed':
      return { type: event, at, who, error: String(fields['error']) };
    default:
      return undefined;
  }
}

const outcomes = ['swapped', 'refused', 'outOfDate', 'unknown', 'notDone'] as const;

function outcomeOf(value: unknown): (typeof outcomes)[number] {
  return outcomes.find((outcome) => outcome === value) ?? 'unknown';
}

function viewOf(told: unknown): View {
  const { state, term, reason }: Readonly<Record<string, unknown>> = typeof told === 'object' && told !== null ? { ...told } : {};
  const known = state === 'leader' || state === 'vacant' ? state : 'unknown';
  return {
    state: known,
    ...(typeof term === 'string' ? { term: BigInt(term) } : {}),
    ...(typeof reason === 'string' ? { reason } : {}),
  };
}
