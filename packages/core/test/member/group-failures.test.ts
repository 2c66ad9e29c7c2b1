/** A group whose calls fail, or are applied late. */

import { describe, expect, it } from 'vitest';
import { denied, failing, relay } from '../support/relay.ts';
import { quiet } from '../support/track.ts';
import { TTL_MS, World } from '../support/world.ts';

describe('a group', () => {
  it('is left although the first try to leave has no answer', async () => {
    const world = new World();
    const link = world.connect();
    const a = world.member('a', {}, link);
    const group = a.group('g');
    await world.run(group.join());
    link.link.dropRequests(1, { operations: ['compareAndSwap'] });
    await world.run(group.leave());
    await world.pass(20 * TTL_MS);
    expect(await world.run(group.members())).toEqual([]);
  });

  it('does not call joined a member that has fallen out of it', async () => {
    const world = new World();
    const link = world.connect();
    let broken = true;
    const store = relay(link, {
      watch: (key, options) => (broken && key.startsWith('groups/') ? failing(denied()) : link.watch(key, options)),
    });
    const group = world.member('a', {}, store).group('g');
    await world.run(group.join());
    await world.pass(10);
    broken = false;
    world.server.deleteKey('groups/g/a');
    await world.run(group.join());
    expect(await world.run(group.members())).toHaveLength(1);
  });

  it('joined a second time while the store does not answer, waits for it', async () => {
    const world = new World();
    const link = world.connect();
    const group = world.member('a', {}, link).group('g');
    await world.run(group.join());
    link.link.dropRequests(1, { operations: ['read'] });
    const again = quiet(group.join());
    expect(await world.settles(again, TTL_MS)).toBe(true);
    await again;
    await world.close();
  });

  it.each(['read', 'compareAndSwap'] as const)('is left although a second call of join still waits for its %s', async (operation) => {
    const world = new World();
    let slow = false;
    const link = world.connect({
      latencyMs: (message) => (slow && message.kind === 'request' && message.operation === operation ? 50 : 1),
    });
    const group = world.member('a', {}, link).group('g');
    await world.run(group.join());
    // Somebody deletes the key, so the second call puts it again.
    world.server.deleteKey('groups/g/a');
    slow = true;
    const again = quiet(group.join());
    await world.pass(operation === 'read' ? 1 : 3);
    slow = false;
    await world.run(group.leave());
    await expect(world.run(again)).rejects.toMatchObject({ code: 'MEMBER_CLOSED' });
    await world.pass(20 * TTL_MS);
    expect(await world.run(group.members())).toEqual([]);
  });
});
