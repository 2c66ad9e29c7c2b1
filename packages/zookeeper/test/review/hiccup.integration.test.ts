/** A link that says nothing for a moment, and the leader of an election. */

import { setTimeout as sleep } from 'node:timers/promises';

import { Member } from '@incumbent/core';
import { requireStore, startProxy, startZookeeper, type ZookeeperServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openZookeeper } from '../../src/index.ts';

const TTL_MS = 4_000;
/** As long as one call may take, by default, and a little. */
const SILENCE_MS = TTL_MS / 4 + 50;
const RUNS = Number(process.env['REVIEW_RUNS'] ?? 6);

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('a link that stalls', () => {
  let zookeeper: ZookeeperServer;
  beforeAll(async () => {
    zookeeper = await startZookeeper();
  });
  afterAll(() => zookeeper.stop());

  it('for as long as one renewal may take costs no leadership: there is time for another', { timeout: 120_000 }, async () => {
    const seen: { leastMs: number; valid: boolean }[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      const proxy = await startProxy(zookeeper.url);
      const store = await openZookeeper({ endpoints: [new URL(proxy.url).host], namespace: `hiccup-${process.pid}-${run}` });
      const member = new Member(store, { memberId: 'm', ttlMs: TTL_MS });
      const leadership = await member.election('e').campaign();
      await sleep(2 * TTL_MS / 3 + (run / RUNS) * (TTL_MS / 3));
      let leastMs = Infinity;
      const watching = setInterval(() => (leastMs = Math.min(leastMs, Math.round(leadership.remainingMs()))), 10);
      proxy.stall();
      await sleep(SILENCE_MS);
      await proxy.heal();
      await sleep(1_000);
      clearInterval(watching);
      seen.push({ leastMs, valid: leadership.isValid() });
      await member.close();
      await store.close();
      await proxy.close();
    }
    console.log(JSON.stringify(seen));
    expect(seen.filter(({ valid }) => !valid)).toEqual([]);
  });
});
