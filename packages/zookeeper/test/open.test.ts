import { describe, expect, it } from 'vitest';

import { closeSession } from '../src/protocol/nodes.ts';
import { type Peer, silent } from './support/fake-server.ts';
import { settled, StoreWorld } from './support/store-world.ts';

describe('opening', () => {
  it('rejects within its time if a server grants a session and then answers nothing', async () => {
    const world = new StoreWorld();
    world.server.answer = silent;
    const before = world.clock.monotonic();
    await settled(world.open({ connectTimeoutMs: 1_000 }));
    expect(world.clock.monotonic() - before).toBeLessThanOrEqual(1_000);
  });

  it.each<[string, (peer: Peer) => void]>([
    ['does not answer', () => {}],
    ['ends the connection', (peer) => peer.end()],
  ])('succeeds although a server %s when it is asked to end a session', async (_, react) => {
    const world = new StoreWorld();
    world.instead = ({ type }, peer) => {
      if (type !== closeSession.type) return false;
      react(peer);
      return true;
    };
    const store = await world.open();
    expect(store.capabilities.maxTtlMs).toBeGreaterThan(0);
    world.instead = () => false;
    await world.clock.run(store.close());
  });
});
