/** A server as a managed service runs it: without the commands of its operator. */

import { Member } from '@incumbent/core';
import { requireStore, startRedis, until, type RedisServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openRedis } from '../src/index.ts';
import { at } from './opening.ts';

/** What one or another service withholds from its users. */
const WITHHELD = [
  'ACL',
  'BGREWRITEAOF',
  'BGSAVE',
  'CLUSTER',
  'CONFIG',
  'DEBUG',
  'FAILOVER',
  'LATENCY',
  'MIGRATE',
  'MODULE',
  'MONITOR',
  'PSYNC',
  'REPLICAOF',
  'ROLE',
  'SAVE',
  'SCRIPT',
  'SHUTDOWN',
  'SLAVEOF',
  'SLOWLOG',
  'SWAPDB',
  'SYNC',
  'WAIT',
] as const;

for (const version of ['default', 'newer'] as const)
  describe.runIf(await requireStore({ store: 'redis', version, own: true }))(`a managed server, ${version} version`, () => {
    let server: RedisServer;

    beforeAll(async () => {
      server = await startRedis({ version, flags: WITHHELD.flatMap((command) => ['--rename-command', command, '']) });
    });
    afterAll(() => server.stop());

    it.each(WITHHELD)('withholds %s', async (command) => {
      expect(await server.ctl([command]).catch(String)).toContain(`unknown command`);
    });

    it('elects, hands over, reports and is inspected', async () => {
      await using store = await openRedis({ endpoints: at(server), namespace: 'app' });
      await using a = new Member(store, { memberId: 'a' });
      await using b = new Member(store, { memberId: 'b' });
      const first = await a.election('controller', { acceptWeakStore: 'redis' }).campaign();
      const next = b.election('controller', { acceptWeakStore: 'redis' }).campaign();
      const isQueued = async (): Promise<boolean> =>
        (await store.list('elections/controller/candidates', { timeoutMs: 5_000 })).length === 2;
      await until(isQueued, { what: 'b waits', withinMs: 30_000 });
      await first.handover('b');
      const second = await next;
      expect(second.term).toBeGreaterThan(first.term);
      expect((await store.inspect?.({ timeoutMs: 5_000 }))?.version).toMatch(/\d/);
      await second.resign();
    });
  });
