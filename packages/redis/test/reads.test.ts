import { describe, expect, it } from 'vitest';

import { runReads } from '../src/reads.ts';
import { RedisStore } from '../src/store.ts';
import { TWO } from './client/calls.ts';
import { bulk, FakeServers, list } from './fake-servers.ts';
import { fields, KEYSPACE } from './watch-scene.ts';

describe('reads that share a request', () => {
  it('do not fail because of a key that holds what somebody has written by hand', async () => {
    const odd = ['bad', '2', 'no number', '', '-1', 'x'];
    const answerTo = (key: string): string => list([list((key === 'bad' ? odd : fields(key, 'well')).map(bulk))]);
    const servers = new FakeServers(([name, , , , , ...words]) => {
      if (name !== 'EVALSHA') return undefined;
      const keys = words.filter((_, at) => words[at - 1] === 'k');
      return list(keys.map(answerTo));
    });
    await using store = new RedisStore({ client: servers.client(), clock: servers.clock, keyspace: KEYSPACE, access: undefined });
    const read = async (key: string): Promise<string> => {
      const entry = await store.read(key, { timeoutMs: 1_000 });
      return Buffer.from(entry?.value ?? '').toString();
    };
    const keys = ['a', 'bad', 'c'];
    const results = await servers.clock.run(Promise.allSettled(keys.map(read)));
    expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed'))).toEqual(['well', 'failed', 'well']);
  });

  it('fail if the answer has another number of parts, so that none is taken for an absent key', async () => {
    const servers = new FakeServers(([name]) => (name === 'EVALSHA' ? list([list([])]) : undefined));
    await using store = new RedisStore({ client: servers.client(), clock: servers.clock, keyspace: KEYSPACE, access: undefined });
    const read = runReads(await servers.client().connect(), KEYSPACE, [{ key: 'a' }, { key: 'b' }]);
    await expect(servers.clock.run(read)).rejects.toMatchObject({ failure: { kind: 'malformed' } });
    // Each read is then sent by itself, and this answer has one part.
    const both = Promise.all(['a', 'b'].map((key) => store.read(key, { timeoutMs: 1_000 })));
    expect(await servers.clock.run(both)).toEqual([undefined, undefined]);
  });
});

it('a read that has timed out at a silent server makes the next read use another one, also at once', async () => {
  const servers: FakeServers = new FakeServers(([name], peer) => {
    if (name !== 'EVALSHA') return undefined;
    return peer === servers.peers[0] ? '' : list([list([])]);
  });
  const client = servers.client({ ...TWO, dialTimeoutMs: 10_000 });
  await using store = new RedisStore({ client, clock: servers.clock, keyspace: KEYSPACE, access: undefined });
  const read = (): Promise<unknown> => store.read('a', { timeoutMs: 500 });
  expect(await servers.clock.run(read().catch(() => read()))).toBeUndefined();
  expect(servers.dialed).toEqual(['one:1', 'two:2']);
});
