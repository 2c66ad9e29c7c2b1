/** Properties of the plans that seeds give. */

import { describe, expect, it } from 'vitest';
import { profileOf, type Fault, type Plan } from '../src/index.ts';

type SetBack = Extract<Fault, { kind: 'wallJump' }>;
type Sleep = Extract<Fault, { kind: 'suspend' }>;

function setBacksOf({ faults }: Plan): readonly SetBack[] {
  return faults.flatMap((fault) => (fault.kind === 'wallJump' && fault.byMs < 0 ? [fault] : []));
}

function sleepsOf({ faults }: Plan, target: string): readonly Sleep[] {
  return faults.flatMap((fault) => (fault.kind === 'suspend' && fault.target === target ? [fault] : []));
}

/** Whether anything but a suspension may stop that process in between. */
function mayStand({ faults }: Plan, target: string, fromMs: number, toMs: number): boolean {
  return faults.some((fault) => {
    if ((fault.kind !== 'pause' && fault.kind !== 'block') || !['leader', 'subject', target].includes(fault.target)) return false;
    return !('atMs' in fault.when) || (fault.when.atMs < toMs && fault.when.atMs + fault.durationMs > fromMs);
  });
}

/**
 * Whether the process cannot notice how long it was suspended: its wall clock was set back
 * meanwhile, or so close to it that it need not have compared its clocks in between.
 */
function isUnnoticed(plan: Plan, { when: jump, target }: SetBack, { when: sleep, durationMs }: Sleep): boolean {
  if (!('atMs' in jump) || !('atMs' in sleep)) return true;
  const [fromMs, toMs, { ttlMs }] = [sleep.atMs, sleep.atMs + durationMs, plan.shape];
  const awayMs = Math.max(fromMs - jump.atMs, jump.atMs - toMs);
  if (awayMs > 1.05 * ttlMs) return false;
  return awayMs < 0.2 * ttlMs || mayStand(plan, target, Math.min(fromMs, jump.atMs), Math.max(toMs, jump.atMs));
}

describe.each(['stormy', 'adversarial', 'reaped', 'blocked', 'operator'])('a plan of %s', (profile) => {
  it('has requests of an operator in some seeds, and the same other faults in all', () => {
    const isRequest = ({ kind }: Fault): boolean => kind === 'requestStepDown' || kind === 'requestHandover';
    const plans = Array.from({ length: 100 }, (_, seed) => profileOf(profile).plan(seed));
    const asked = plans.filter(({ faults }) => faults.some(isRequest));
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.length).toBeLessThan(95);
    // Requests come last, so that they do not change what is drawn for the other faults.
    for (const { faults } of asked) expect(faults.slice(faults.findIndex(isRequest)).every(isRequest)).toBe(true);
  });
});

describe.each(['stormy', 'adversarial'])('a plan of %s', (profile) => {
  const plans = Array.from({ length: 1_000 }, (_, seed) => profileOf(profile).plan(seed));

  it('sets back no wall clock so that a process cannot notice its suspension', () => {
    for (const plan of plans)
      for (const jump of setBacksOf(plan))
        for (const sleep of sleepsOf(plan, jump.target)) expect(isUnnoticed(plan, jump, sleep), `seed ${plan.seed}`).toBe(false);
  });

  it.each(['before', 'after'])('sets back some wall clocks shortly %s a machine sleeps', (side) => {
    const isClose = ({ shape }: Plan, { when: jump }: SetBack, { when: sleep, durationMs }: Sleep): boolean => {
      if (!('atMs' in jump) || !('atMs' in sleep)) return false;
      const awayMs = side === 'before' ? sleep.atMs - jump.atMs : jump.atMs - sleep.atMs - durationMs;
      return awayMs > 0 && awayMs < (profile === 'stormy' ? 0.7 : 1.5) * shape.ttlMs;
    };
    expect(
      plans.some((plan) => setBacksOf(plan).some((jump) => sleepsOf(plan, jump.target).some((sleep) => isClose(plan, jump, sleep)))),
    ).toBe(true);
  });
});
