/**
 * A primary that refuses writes because it lacks replicas. The check `redis-old-primary` shows what
 * happens to a leader.
 */

import { requireStore, startRedis, until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { openRedis } from '../src/index.ts';
import { at, failureOf, follow, put } from './opening.ts';

const servers = [
  { what: 'a redis', version: 'default', isThere: await requireStore({ store: 'redis', own: true }) },
  { what: 'a valkey', version: 'newer', isThere: await requireStore({ store: 'redis', version: 'newer', own: true }) },
] as const;

for (const { what, version, isThere } of servers) {
  describe.runIf(isThere)(`${what} that refuses writes`, () => {
    it('is passed over when a store opens, and alone makes opening fail', async () => {
      await using refusing = await startRedis({ version, flags: ['--min-replicas-to-write', '1'] });
      await using other = await startRedis({ version });
      expect(await failureOf({ endpoints: at(refusing) })).toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringContaining('NOREPLICAS'),
      });
      await using store = await openRedis({ endpoints: [...at(refusing), ...at(other)], namespace: 'ns' });
      await put(store, 'a');
      expect(await other.ctl(['exists', '{ns}/a'])).toBe('1\n');
    });

    it('is left by a store that only watches', async () => {
      await using primary = await startRedis({ version });
      await using other = await startRedis({ version });
      await using elsewhere = await openRedis({ endpoints: at(other), namespace: 'ns' });
      await put(elsewhere, 'a');
      await using store = await openRedis({ endpoints: [...at(primary), ...at(other)], namespace: 'ns' });
      const { seen, stop } = follow((options) => store.watch('a', options));
      await until(() => seen.length === 1, { what: 'the watch has its first state' });
      await primary.ctl(['config', 'set', 'min-replicas-to-write', '1']);
      await until(() => seen.at(-1)?.key === 'a', { what: 'the watch shows the state of the other server' });
      await stop();
    });

    it('and is the only server gets few requests, and is used again when it has replicas', async () => {
      await using primary = await startRedis({ version });
      await using store = await openRedis({ endpoints: at(primary), namespace: 'ns' });
      const stop = new AbortController();
      const seen: unknown[] = [];
      const watching = (async () => {
        for await (const entry of store.watch('a', { signal: stop.signal })) seen.push(entry?.key);
      })();
      watching.catch(() => {});
      await until(() => seen.length === 1, { what: 'the watch has its first state' });
      await primary.ctl(['config', 'set', 'min-replicas-to-write', '1']);
      await expect(put(store, 'a')).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'refused' });
      const connections = async (): Promise<number> =>
        Number(/^total_connections_received:(\d+)/m.exec(await primary.ctl(['info', 'stats']))?.[1]);
      const before = await connections();
      const fromMs = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      // The last count is a connection too. Pauses are 250 ms at least, but for the first ones.
      expect((await connections()) - before - 1).toBeLessThan(5 + (performance.now() - fromMs) / 250);
      await primary.ctl(['config', 'set', 'min-replicas-to-write', '0']);
      await until(() => put(store, 'a').then(() => true), { what: 'it writes again' });
      await until(() => seen.at(-1) === 'a', { what: 'the watch shows it' });
      stop.abort();
      await watching;
    });
  });
}
