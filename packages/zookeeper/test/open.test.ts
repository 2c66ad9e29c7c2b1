import { describe, expect, it } from 'vitest';

import { silent } from './support/fake-server.ts';
import { settled, StoreWorld } from './support/store-world.ts';

describe('opening', () => {
  it('rejects within its time if a server grants a session and then answers nothing', async () => {
    const world = new StoreWorld();
    world.server.answer = silent;
    const before = world.clock.monotonic();
    await settled(world.open({ connectTimeoutMs: 1_000 }));
    expect(world.clock.monotonic() - before).toBeLessThanOrEqual(1_000);
  });
});
