/**
 * Worlds of every profile. `SIMULATION_SEEDS` sets how many of each, and `SIMULATION_START` the
 * first seed. By default few, and always the same.
 */

import { describe, expect, it } from 'vitest';
import { missing, profiles, runBatch } from '../src/index.ts';

const seeds = Number(process.env['SIMULATION_SEEDS'] ?? 150);
const start = Number(process.env['SIMULATION_START'] ?? 1);

describe.each(profiles)('$name: $about', ({ name, mustBreak }) => {
  it(
    `keeps every promise${mustBreak.length > 0 ? ' but those that the docs warn of, which break' : ''}`,
    { timeout: 600_000 },
    async () => {
      // A promise that must break does so in one world of forty.
      const summary = await runBatch(name, start, mustBreak.length > 0 ? 3 * seeds : seeds);
      expect(summary.failed, `again: pnpm simulate --profile ${name} --replay ${summary.failed[0]?.seed}`).toEqual([]);
      expect(missing(summary)).toEqual([]);
      for (const promise of mustBreak) expect(summary.broken).toHaveProperty(promise);
      expect(summary.counts['elected']).toBeGreaterThan(summary.runs);
      expect(summary.replayed).toBeGreaterThan(0);
    },
  );
});
