/** What the plans of seeds keep to. */

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

/** Whether the process cannot notice how long it slept: its wall was set back meanwhile, or so shortly before that no renewal need have come. */
function isUnnoticed({ when: jump }: SetBack, { when: sleep, durationMs }: Sleep, ttlMs: number): boolean {
  if (!('atMs' in jump) || !('atMs' in sleep)) return true;
  return jump.atMs > sleep.atMs - 1.05 * ttlMs && jump.atMs <= sleep.atMs + durationMs;
}

describe.each(['stormy', 'adversarial'])('a plan of %s', (profile) => {
  const plans = Array.from({ length: 1_000 }, (_, seed) => profileOf(profile).plan(seed));

  it('sets no wall back that nobody could notice', () => {
    for (const plan of plans)
      for (const jump of setBacksOf(plan))
        for (const sleep of sleepsOf(plan, jump.target))
          expect(isUnnoticed(jump, sleep, plan.shape.ttlMs), `seed ${plan.seed}`).toBe(false);
  });

  it('sets walls back of machines that sleep later on', () => {
    expect(plans.some((plan) => setBacksOf(plan).some(({ target }) => sleepsOf(plan, target).length > 0))).toBe(true);
  });
});
