import { describe, expect, it } from 'vitest';
import { randomOf } from '@incumbent/test-support/random';
import type { Fault } from '../faults/fault.ts';
import { drawPlan, type Plan, type PlanOptions } from '../plan.ts';

function fault(name: string, weight: number, on: 'member' | 'store' = 'member'): Fault {
  const common = { name, weight, appliesTo: () => true, begin: async () => undefined };
  return on === 'store' ? { ...common, on, target: 'record' } : { ...common, on };
}

const faults = [fault('crash', 3), fault('cut', 1), fault('deleteRecord', 1, 'store')];

function draw(seed: number, minutes = 30): Plan {
  return drawPlan({ seed, minutes, ttlMs: 3_000, faults, random: randomOf(seed) });
}

describe('a plan', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(draw(7)).toEqual(draw(7));
    expect(draw(8)).not.toEqual(draw(7));
  });

  it('has a fault about every five seconds, within storms that leave time for calm', () => {
    const { rounds } = draw(7);
    const steps = rounds.flatMap((round) => round.steps);
    const stormMs = rounds.reduce((sum, round) => sum + round.stormMs, 0);
    expect(stormMs / steps.length).toBeGreaterThan(4_000);
    expect(stormMs / steps.length).toBeLessThan(7_000);
    expect(stormMs).toBeGreaterThan(20 * 60_000);
    expect(rounds.every((round) => round.steps.every(({ at }) => at > 0 && at < round.stormMs))).toBe(true);
    expect(new Set(steps.map(({ id }) => id)).size).toBe(steps.length);
  });

  it('has each fault as often as it weighs, mostly at the leader, for shorter and longer than a lease', () => {
    const steps = draw(7).rounds.flatMap((round) => round.steps);
    const count = (name: string): number => steps.filter((step) => step.fault === name).length / steps.length;
    expect(count('crash')).toBeCloseTo(3 / 5, 1);
    expect(count('cut')).toBeCloseTo(1 / 5, 1);
    expect(steps.filter(({ aim, fault: name }) => aim === 'leader' && name === 'deleteRecord')).toEqual([]);
    const members = steps.filter((step) => step.fault !== 'deleteRecord');
    expect(members.filter(({ aim }) => aim === 'leader').length / members.length).toBeGreaterThan(0.5);
    expect(steps.some((step) => step.for < 3_000) && steps.some((step) => step.for > 6_000)).toBe(true);
  });

  it('has a fault that is sure to end a leadership, however short it is', () => {
    const kill = fault('kill', 1);
    const sure: Fault = kill.on === 'member' ? { ...kill, endsLeadership: true } : kill;
    const plans = Array.from({ length: 500 }, (_, seed) =>
      drawPlan({ seed, minutes: 1, ttlMs: 3_000, faults: [...faults, sure], random: randomOf(seed) }),
    );
    const kills = plans.map(({ rounds }) =>
      rounds.flatMap(({ steps }) => steps.filter((step) => step.fault === 'kill' && step.aim === 'leader')),
    );
    expect(kills.every(({ length }) => length > 0)).toBe(true);
    expect(kills.some(({ length }) => length > 1)).toBe(true);
  });

  it('deletes records or entries in one storm, and never both', () => {
    const both = [...faults, fault('deleteEntry', 1, 'store')];
    const { rounds } = drawPlan({ seed: 7, minutes: 60, ttlMs: 3_000, faults: both, random: randomOf(7) });
    const kinds = rounds.map(({ steps }) => new Set(steps.map((step) => step.fault).filter((name) => name.startsWith('delete'))));
    expect(kinds.every(({ size }) => size <= 1)).toBe(true);
    expect(new Set(kinds.flatMap((kind) => [...kind]))).toEqual(new Set(['deleteRecord', 'deleteEntry']));
  });

  it('has, after every third storm, one thing that is wrong for longer than a new leader may take, and a leader that goes', () => {
    const server: Fault = { name: 'pauseServer', on: 'server', weight: 1, appliesTo: () => true, begin: async () => undefined };
    const drawn = [...faults, fault('silenceWatches', 1), fault('leave', 1), server];
    const options = (): PlanOptions => ({ seed: 7, minutes: 6, ttlMs: 3_000, faults: drawn, random: randomOf(7) });
    const storms = drawPlan(options()).rounds;
    const { rounds } = drawPlan({ ...options(), sickMs: 8_000, silentMs: 20_000 });
    expect(rounds.filter((_, index) => index !== 1 && index !== 5)).toEqual(storms);
    const vigils = [rounds[1], rounds[5]].map((round) => round?.steps.map((step) => step.fault));
    expect(vigils).toEqual([
      ['pauseServer', 'crash'],
      ['silenceWatches', 'silenceWatches', 'silenceWatches', 'leave'],
    ]);
    expect(rounds[1]?.steps[0]?.for).toBeGreaterThan(8_000);
    expect(rounds[5]?.steps[0]?.for).toBeGreaterThan(20_000);
    const { rounds: withoutServers } = drawPlan({ ...options(), silentMs: 20_000 });
    expect(withoutServers[1]).toEqual({ ...rounds[5], steps: expect.any(Array) });
  });

  it('is one storm where there is no time for more', () => {
    expect(draw(7, 0.5).rounds).toHaveLength(1);
  });
});
