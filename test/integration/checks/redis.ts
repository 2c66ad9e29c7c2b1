/** What Redis alone promises. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkHistory } from '@incumbent/conformance';
import { historyOf, now } from '../history.ts';
import type { Check } from './check.ts';
import { redisHost } from './hosts.ts';
import { at, ELECTION, freshNamespace, PATIENCE_MS, spawnMember, storeUrl, termOf } from './pair.ts';

const TTL_MS = 2_000;
const FOLLOWS_WITHIN_MS = 2_200;

export const redisCrash: Check = {
  name: 'redis-crash',
  claim: `A leader that is killed (kill -9) is followed within ${FOLLOWS_WITHIN_MS} ms at a ttl of ${TTL_MS} ms.`,
  method:
    `Two processes, ttl ${TTL_MS} ms, on one redis; the leader is killed at a random phase of its renewals. next: from the kill to the other one being told that it ` +
    'leads, in the next term.',
  runs: 20,
  parallel: 2,
  open: async () => {
    const server = await redisHost.start();
    return {
      run: async (_index, { random, isTimed }) => {
        const url = storeUrl([server.url], freshNamespace(), 'redis');
        await using a = await spawnMember(url, 'a', TTL_MS);
        const first = await a.waitFor('elected', { withinMs: PATIENCE_MS });
        await using b = await spawnMember(url, 'b', TTL_MS);
        await sleep(TTL_MS / 2 + random() * TTL_MS);
        a.sigkill();
        const killedAt = now();
        const elected = await b.waitFor('elected', { withinMs: PATIENCE_MS });
        const nextMs = at(elected) - killedAt;
        assert.equal(termOf(elected), termOf(first) + 1n);
        assert.ok(!isTimed || nextMs <= FOLLOWS_WITHIN_MS, `it took ${nextMs} ms`);
        const events = [
          ...historyOf(a, 'a', ELECTION),
          { type: 'died' as const, at: killedAt, member: 'a' },
          ...historyOf(b, 'b', ELECTION),
        ];
        assert.deepEqual(checkHistory(events, { unfinished: true }), []);
        return { figures: { nextMs } };
      },
      [Symbol.asyncDispose]: async () => server.stop(),
    };
  },
};
