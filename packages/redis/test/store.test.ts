import { isIncumbentError } from '@incumbent/core';
import { expect, it } from 'vitest';

import { RedisStore } from '../src/store.ts';
import { FakeServers } from './fake-servers.ts';
import { KEYSPACE } from './watch-scene.ts';

it('a closed store rejects inspect, and does not throw', async () => {
  const servers = new FakeServers(() => undefined);
  const store = new RedisStore({ client: servers.client(), clock: servers.clock, keyspace: KEYSPACE, access: undefined });
  await store.close();
  await expect(store.inspect({ timeoutMs: 100 })).rejects.toSatisfy((error) => isIncumbentError(error, 'STORE_CLOSED'));
});
