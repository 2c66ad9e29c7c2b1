/** The requests of an operator to a leader, and their checker on made-up histories. */

import { describe, expect, it } from 'vitest';
import { RequestChecker } from '../src/check/requests.ts';
import { profileOf, run, type Fault, type Plan, type WorldEvent } from '../src/index.ts';
import { broken, election, handleOf, processOf } from './histories.ts';

describe('the request checker', () => {
  const handle = handleOf('a#1', 2n);
  const about = (term: bigint, request: 'stepDown' | 'handover') =>
    ({ process: processOf('operator#1'), election, term, request }) as const;
  const sent = (term: bigint, request: 'stepDown' | 'handover' = 'stepDown'): WorldEvent => ({
    type: 'requested',
    ...about(term, request),
  });
  const written: WorldEvent = { type: 'requestWritten', ...about(2n, 'stepDown') };
  const elected: WorldEvent = { type: 'elected', handle };
  const steppedDown: WorldEvent = { type: 'ended', handle, reason: 'steppedDown', lost: false };
  const deposed: WorldEvent = { type: 'phase', phase: 'deposed' };

  it('reports a leader that steps down on a request for another term, or on none', () => {
    expect(broken(new RequestChecker(), elected, sent(2n), steppedDown)).toEqual([]);
    for (const other of [sent(1n), sent(2n, 'handover')])
      expect(broken(new RequestChecker(), elected, other, steppedDown)).toEqual(['a request is obeyed only in its term']);
  });

  it('reports a leader that obeys a request for a handover in another term', () => {
    const message = 'an operator requests a handover';
    const read: WorldEvent = { type: 'logged', process: handle.process, message, election, term: '2' };
    expect(broken(new RequestChecker(), elected, sent(2n, 'handover'), read)).toEqual([]);
    expect(broken(new RequestChecker(), elected, sent(1n, 'handover'), read)).toEqual(['a request is obeyed only in its term']);
  });

  it('reports a leader that still leads in calm although it was asked to step down', () => {
    expect(broken(new RequestChecker(), elected, sent(2n), written, deposed)).toEqual(['who is asked to step down does']);
    expect(broken(new RequestChecker(), elected, sent(2n), written, steppedDown, deposed)).toEqual([]);
    expect(broken(new RequestChecker(), elected, sent(2n), deposed)).toEqual([]);
  });
});

describe('a request of an operator', () => {
  /** A calm world in which leaders never give up by themselves, with these faults. */
  function planOf(...faults: readonly Fault[]): Plan {
    const { shape, ...plan } = profileOf('calm').plan(3);
    return { ...plan, shape: { ...shape, members: 3, order: 'arrival', unrest: 0 }, faults };
  }

  async function eventsOf(plan: Plan): Promise<readonly WorldEvent[]> {
    const events: WorldEvent[] = [];
    const onEvent = (event: WorldEvent): void => void (event.type !== 'phase' && events.push(event));
    const { violations } = await run(plan, { listener: { onEvent } });
    expect(violations).toEqual([]);
    return events;
  }

  const endsOf = (events: readonly WorldEvent[], reason: string): number =>
    events.filter((event) => event.type === 'ended' && event.reason === reason).length;
  const request = { delayMs: 10, lostReplies: 0, when: { on: 'elected', nth: 1, afterMs: 0 } } as const;

  it('makes the leader step down', async () => {
    const events = await eventsOf(planOf({ kind: 'requestStepDown', ...request }));
    expect(endsOf(events, 'steppedDown')).toBe(1);
  });

  it('makes the leader hand over', async () => {
    const events = await eventsOf(planOf({ kind: 'requestHandover', ...request, nth: 0, when: { on: 'elected', nth: 1, afterMs: 1_000 } }));
    expect(endsOf(events, 'handover')).toBe(1);
  });

  it('whose answer is lost is written again, and ends one term', async () => {
    const events = await eventsOf(planOf({ kind: 'requestStepDown', ...request, lostReplies: 1 }));
    expect(endsOf(events, 'steppedDown')).toBe(1);
  });

  it('does nothing once its term is over', async () => {
    const first: Fault = { kind: 'requestStepDown', ...request };
    const events = await eventsOf(planOf({ ...first, delayMs: 5_000 }, first));
    expect(events.filter(({ type }) => type === 'requested')).toHaveLength(2);
    expect(endsOf(events, 'steppedDown')).toBe(1);
  });
});
