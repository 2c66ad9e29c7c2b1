/** The count of faults: only those that took effect. */

import { describe, expect, it } from 'vitest';
import { profileOf, run, type Fault, type FaultAction } from '../src/index.ts';

const when = { atMs: 5_000 };

/** How often each kind of fault took effect in a calm world with these faults. */
async function injected(...faults: readonly Fault[]): Promise<Record<string, number>> {
  const plan = profileOf('calm').plan(3);
  const { counts } = await run({ ...plan, faults });
  return Object.fromEntries([...counts].flatMap(([name, count]) => (name.startsWith('fault: ') ? [[name.slice(7), count]] : [])));
}

describe('a fault that changes nothing is not counted', () => {
  it.each(['pause', 'block', 'suspend'] as const)('%s of a process that is stopped', async (kind) => {
    const stop: Fault = { kind: 'pause', target: 'm1', durationMs: 1_000, when };
    const second: Fault = { kind, target: 'm1', durationMs: 10, when: { atMs: 5_500 } };
    expect(await injected(stop, second)).toEqual({ pause: 1 });
    expect(await injected(second)).toEqual({ [kind]: 1 });
  });

  it.each<FaultAction>([
    { kind: 'endLease', target: 'm1', by: 'operator' },
    { kind: 'deleteKey', which: 'leader', nth: 0 },
    { kind: 'deleteEntry' },
    { kind: 'hungCandidate', durationMs: 10 },
    { kind: 'requestStepDown', delayMs: 0, lostReplies: 0 },
  ])('$kind before anybody has joined', async (fault) => {
    const plan = { ...fault, when: { atMs: 0 } };
    expect(await injected(plan)).toEqual({});
    expect(await injected({ ...fault, when })).toEqual({ [fault.kind]: 1 });
  });
});
