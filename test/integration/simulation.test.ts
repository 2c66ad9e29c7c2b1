/**
 * Worlds of seeds that were never run before. If one breaks a promise, the message contains its
 * seed. `SIMULATION_FRESH_START` sets the first seed.
 */

import { describe, expect, it } from 'vitest';
import { numberVariable } from '@incumbent/test-support/number-option';
import { randomOf } from '@incumbent/test-support/random';
import { FRESH_START } from '@incumbent/test-support/run-twice';
import { peerBestEffort } from './checks/peer-best-effort.ts';
import { peerEmergent } from './checks/peer-emergent.ts';
import { peerSimulation } from './checks/peer-simulation.ts';
import { simulations } from './checks/simulation.ts';

const start = numberVariable(FRESH_START, Date.now() % 1_000_000_000, { from: 0 });

describe(`fresh worlds, from seed ${start}`, () => {
  it.each([...simulations, peerSimulation, ...peerBestEffort, peerEmergent])('$name: $claim', { timeout: 300_000 }, async ({ open }) => {
    await using opened = await open();
    const { figures } = await opened.run(0, { seed: start, random: randomOf(start), isTimed: false });
    expect(figures['seeds']).toBe(1_000);
  });
});
