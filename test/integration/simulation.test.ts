/**
 * Worlds from seeds that nobody has tried: where one breaks a promise, its seed is in the message.
 * `SIMULATION_START` sets them.
 */

import { describe, expect, it } from 'vitest';
import { randomOf } from './checks/check.ts';
import { peerBestEffort } from './checks/peer-best-effort.ts';
import { peerEmergent } from './checks/peer-emergent.ts';
import { peerSimulation } from './checks/peer-simulation.ts';
import { simulations } from './checks/simulation.ts';

const start = Number(process.env['SIMULATION_START'] ?? Date.now() % 1_000_000_000);

describe(`fresh worlds, from seed ${start}`, () => {
  it.each([...simulations, peerSimulation, ...peerBestEffort, peerEmergent])('$name: $claim', { timeout: 300_000 }, async ({ open }) => {
    await using opened = await open();
    const { figures } = await opened.run(0, { seed: start, random: randomOf(start), isTimed: false });
    expect(figures['seeds']).toBe(1_000);
  });
});
