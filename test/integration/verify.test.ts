import { describe, expect, it } from 'vitest';
import { checks } from './checks/index.ts';
import { randomOf } from './checks/check.ts';
import { simulations } from './checks/simulation.ts';

/** Where a claim is of several kinds of runs, one of each. */
const RUNS: Readonly<Record<string, number>> = { 'failover-requests': 2, 'cluster-kill': 3 };
/** What only measures takes its time elsewhere. */
const SEED = 1;

describe('every claim of docs/verification, once', () => {
  for (const check of checks.filter((one) => !simulations.includes(one))) {
    it(`${check.name}: ${check.claim}`, { timeout: 180_000 }, async () => {
      await using opened = await check.open();
      for (let index = 0; index < (RUNS[check.name] ?? 1); index += 1) {
        const { figures } = await opened.run(index, { seed: SEED, random: randomOf(SEED + index), isTimed: false });
        expect(Object.values(figures).every(Number.isFinite)).toBe(true);
      }
    });
  }
});
