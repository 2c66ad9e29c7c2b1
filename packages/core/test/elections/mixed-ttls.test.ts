/** Members of one election with different ttls. */

import { describe, expect, it } from 'vitest';
import { track } from '../support/track.ts';
import { NAME, World } from '../support/world.ts';

const SHORT_MS = 2_000;
const LONG_MS = 20_000;
const PHASES = Array.from({ length: 8 }, (_, i) => i / 8);

describe.each([
  { ttlMs: SHORT_MS, nextMs: LONG_MS },
  { ttlMs: LONG_MS, nextMs: SHORT_MS },
])('where a leader with a ttl of $ttlMs ms dies before a candidate with $nextMs ms', ({ ttlMs, nextMs }) => {
  it.each(PHASES)("the next one leads when the leader's own lease has ended, and not before it has stopped (%d)", async (phase) => {
    const world = new World();
    const store = world.connect();
    const leader = await world.elect(world.member('a', { ttlMs }, store));
    const next = track(world.member('b', { ttlMs: nextMs }).election(NAME).campaign());
    await world.pass(2 * LONG_MS + (phase * ttlMs) / 3);
    store.link.cutOff();
    const diedAt = world.clock.monotonic();
    await world.until(() => next.state === 'resolved' || !leader.isValid(), 'the end of validity', ttlMs, 10);
    expect(next.state).toBe('pending');
    await world.until(() => next.state === 'resolved', 'the next leader', ttlMs, 10);
    const vacantMs = world.clock.monotonic() - diedAt;
    // The last renewal was sent up to a third of the ttl earlier.
    expect(vacantMs).toBeGreaterThanOrEqual((2 / 3) * ttlMs - 10);
    expect(vacantMs).toBeLessThanOrEqual(ttlMs + 10);
  });
});

it.each([
  { aheadMs: LONG_MS, ownMs: SHORT_MS },
  { aheadMs: SHORT_MS, ownMs: LONG_MS },
])('a dead candidate ahead with a ttl of $aheadMs ms costs a candidate with $ownMs ms its own claim timeout at most', async (ttls) => {
  const world = new World();
  const dead = world.connect();
  const leader = await world.elect(world.member('a', { ttlMs: SHORT_MS }, dead));
  void track(world.member('b', { ttlMs: ttls.aheadMs }, dead).election(NAME).campaign());
  await world.until(() => world.queue().length === 2, 'one ahead');
  const last = track(world.member('c', { ttlMs: ttls.ownMs }).election(NAME).campaign());
  await world.pass(2 * LONG_MS);
  dead.link.cutOff();
  await world.until(() => !leader.isValid(), "the end of the leader's validity", SHORT_MS, 10);
  await world.until(() => last.state === 'resolved', 'the last one leads', SHORT_MS + Math.min(ttls.aheadMs, 1.5 * ttls.ownMs), 10);
});
