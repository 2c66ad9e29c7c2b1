/**
 * Two members of one election are never valid at the same time, also after a member id changes
 * hands.
 */

import { describe, expect, it } from 'vitest';
import type { Leadership } from '../../src/index.ts';
import { relay } from '../support/relay.ts';
import { quiet } from '../support/track.ts';
import { NAME, TTL_MS, World } from '../support/world.ts';

/**
 * Lets time pass until `second` leads or `withinMs` are over; true if `first` was valid at the same
 * time.
 */
async function overlap(world: World, first: Leadership, next: Promise<Leadership>, withinMs: number): Promise<boolean> {
  let second: Leadership | undefined;
  void next.then((leadership) => {
    second = leadership;
  });
  for (let passed = 0; passed < withinMs; passed += 10) {
    await world.pass(10);
    if (second?.isValid() === true && first.isValid()) return true;
  }
  return false;
}

describe('two leaders at one time', () => {
  it("a member that replaces a cut-off process does not set a third candidate free before that process's deadline", async () => {
    const world = new World();
    const link = world.connect();
    const first = await world.elect(world.member('a', {}, link));
    const c = world.member('c');
    const next = quiet(c.election(NAME).campaign());
    await world.until(() => world.queue().length === 2);
    link.link.cutOff();
    const again = world.member('a', { onDuplicate: 'replace' }, world.connect());
    void quiet(again.election(NAME).campaign());
    expect(await overlap(world, first, next, TTL_MS)).toBe(false);
  });

  it('replace waits out the former ttl although the answer to its revocation was lost', async () => {
    const world = new World();
    const link = world.connect();
    const first = await world.elect(world.member('a', {}, link));
    link.link.cutOff();
    const second = world.connect();
    second.link.dropReplies(1, { operations: ['revokeLease'], how: 'reset' });
    const again = world.member('a', { onDuplicate: 'replace' }, second);
    expect(await overlap(world, first, quiet(again.election(NAME).campaign()), TTL_MS)).toBe(false);
  });

  it('replace waits out the ttl that was granted, not the one that was asked for', async () => {
    const world = new World();
    const link = world.connect();
    // A store that rounds up, as etcd does to whole seconds and ZooKeeper to its range.
    const generous = relay(link, { grantLease: (ttlMs, options) => link.grantLease(Math.ceil(ttlMs / 2_000) * 2_000, options) });
    const first = await world.elect(world.member('a', { ttlMs: 2_500 }, generous));
    expect(world.server.leases()[0]?.ttlMs).toBe(4_000);
    link.link.cutOff();
    const again = world.member('a', { onDuplicate: 'replace', ttlMs: 2_500 }, world.connect());
    expect(await overlap(world, first, quiet(again.election(NAME).campaign()), 4_000)).toBe(false);
  });

  it('replace waits out the former ttl although its own first session was lost meanwhile', async () => {
    const world = new World();
    const link = world.connect();
    const first = await world.elect(world.member('a', { ttlMs: 20_000 }, link));
    link.link.cutOff();
    const second = world.connect({ latencyMs: 1 });
    const again = world.member('a', { onDuplicate: 'replace', ttlMs: 1_000 }, second);
    const formerLease = world.entry('members/a')?.lease;
    const next = quiet(again.election(NAME).campaign());
    await world.until(
      () => world.queue().length === 1 && world.entry('members/a')?.lease !== formerLease,
      'the second process has the id',
      1_000,
    );
    second.link.cutOff();
    await world.pass(1_100);
    second.link.heal();
    expect(await overlap(world, first, next, 20_000)).toBe(false);
  });

  it('two processes that replace each other do not go on for ever', async () => {
    const world = new World();
    const options = { onDuplicate: 'replace' as const };
    const ends: unknown[] = [];
    for (const member of [world.member('a', options, world.connect()), world.member('a', options, world.connect())]) {
      void member
        .election(NAME)
        .lead(({ ended }) => ended)
        .catch((error: unknown) => ends.push(error));
    }
    await world.pass(10 * TTL_MS);
    const before = world.server.requests.grantLease;
    await world.pass(20 * TTL_MS);
    expect({ ends: ends.length, sessionsOpenedLately: world.server.requests.grantLease - before }).toEqual({
      ends: 1,
      sessionsOpenedLately: 0,
    });
  });

  it('shutdown with little time does not revoke the lease while the work still drains', async () => {
    const world = new World();
    const a = world.member('a', { drainMs: 400 }, world.connect({ latencyMs: 50 }));
    let working = false;
    void quiet(
      a.election(NAME).lead(async ({ ended }) => {
        working = true;
        await ended;
        // Stops well within the drain.
        await new Promise<void>((resolve) => world.clock.schedule(300, resolve));
        working = false;
      }),
    );
    await world.until(() => working);
    const next = world.member('b').election(NAME).campaign();
    await world.until(() => world.queue().length === 2);
    const closing = a.shutdown({ timeoutMs: 60 });
    await world.run(next);
    expect(working).toBe(false);
    await world.run(closing);
  });
});
