/** How two members can believe at once. */

import { describe, expect, it } from 'vitest';
import type { Leadership } from '../../src/index.ts';
import { instead, NAME, quiet, Scene, TTL_MS } from './scene.ts';

/** Lets time pass until `second` leads or `withinMs` are over; true if `first` believed at the same time. */
async function overlap(scene: Scene, first: Leadership, next: Promise<Leadership>, withinMs: number): Promise<boolean> {
  let second: Leadership | undefined;
  void next.then((leadership) => {
    second = leadership;
  });
  for (let passed = 0; passed < withinMs; passed += 10) {
    await scene.pass(10);
    if (second?.isValid() === true && first.isValid()) return true;
  }
  return false;
}

describe('two believers', () => {
  it("a member that replaces a cut-off process does not set a third candidate free before that process's deadline", async () => {
    const scene = new Scene();
    const link = scene.connect();
    const first = await scene.elect(scene.member('a', link));
    const c = scene.member('c');
    const next = quiet(c.election(NAME).campaign());
    await scene.until(() => scene.queue.length === 2);
    link.link.cutOff();
    const again = scene.member('a', scene.connect(), { onDuplicate: 'replace' });
    void quiet(again.election(NAME).campaign());
    expect(await overlap(scene, first, next, TTL_MS)).toBe(false);
  });

  it('replace waits out the former ttl although the answer to its revocation was lost', async () => {
    const scene = new Scene();
    const link = scene.connect();
    const first = await scene.elect(scene.member('a', link));
    link.link.cutOff();
    const second = scene.connect();
    second.link.dropReplies(1, { verbs: ['revokeLease'], how: 'reset' });
    const again = scene.member('a', second, { onDuplicate: 'replace' });
    expect(await overlap(scene, first, quiet(again.election(NAME).campaign()), TTL_MS)).toBe(false);
  });

  it('replace waits out the ttl that was granted, not the one that was asked for', async () => {
    const scene = new Scene();
    const link = scene.connect();
    // A store that rounds up, as etcd does to whole seconds and ZooKeeper to its range.
    const generous = instead(link, { grantLease: (ttlMs, options) => link.grantLease(Math.ceil(ttlMs / 2_000) * 2_000, options) });
    const first = await scene.elect(scene.member('a', generous, { ttlMs: 2_500 }));
    expect(scene.server.leases()[0]?.ttlMs).toBe(4_000);
    link.link.cutOff();
    const again = scene.member('a', scene.connect(), { onDuplicate: 'replace', ttlMs: 2_500 });
    expect(await overlap(scene, first, quiet(again.election(NAME).campaign()), 4_000)).toBe(false);
  });

  it('replace waits out the former ttl although its own first session was lost meanwhile', async () => {
    const scene = new Scene();
    const link = scene.connect();
    const first = await scene.elect(scene.member('a', link, { ttlMs: 20_000 }));
    link.link.cutOff();
    const second = scene.connect();
    const again = scene.member('a', second, { onDuplicate: 'replace', ttlMs: 1_000 });
    const formerLease = scene.entry('members/a')?.lease;
    const next = quiet(again.election(NAME).campaign());
    await scene.until(() => scene.queue.length === 1 && scene.entry('members/a')?.lease !== formerLease, 1_000);
    second.link.cutOff();
    await scene.pass(1_100);
    second.link.heal();
    expect(await overlap(scene, first, next, 20_000)).toBe(false);
  });

  it('two processes that replace each other do not go on for ever', async () => {
    const scene = new Scene();
    const options = { onDuplicate: 'replace' as const };
    const ends: unknown[] = [];
    for (const member of [scene.member('a', scene.connect(), options), scene.member('a', scene.connect(), options)]) {
      void member
        .election(NAME)
        .lead(({ ended }) => ended)
        .catch((error: unknown) => ends.push(error));
    }
    await scene.pass(10 * TTL_MS);
    const before = scene.server.requests.grantLease;
    await scene.pass(20 * TTL_MS);
    expect({ ends: ends.length, sessionsOpenedLately: scene.server.requests.grantLease - before }).toEqual({
      ends: 1,
      sessionsOpenedLately: 0,
    });
  });

  it('shutdown with little time does not revoke the lease while the work still drains', async () => {
    const scene = new Scene();
    const a = scene.member('a', scene.connect(50), { drainMs: 400 });
    let working = false;
    void quiet(
      a.election(NAME).lead(async ({ ended }) => {
        working = true;
        await ended;
        // Stops well within the drain.
        await new Promise<void>((resolve) => scene.clock.schedule(300, resolve));
        working = false;
      }),
    );
    await scene.until(() => working);
    const next = scene.member('b').election(NAME).campaign();
    await scene.until(() => scene.queue.length === 2);
    const closing = a.shutdown({ timeoutMs: 60 });
    await scene.run(next);
    expect(working).toBe(false);
    await scene.run(closing);
  });
});
