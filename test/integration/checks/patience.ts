/** An entry in the queue that nobody campaigns with. */

import assert from 'node:assert/strict';
import { openStore } from 'incumbent';
import { startEtcd } from '@incumbent/test-support';
import type { Check } from './check.ts';
import { at, ELECTION, freshNamespace, PATIENCE_MS, spawnMember, storeUrl, TTL_MS } from './pair.ts';

/** ttl + position × half a ttl, for the one right behind it. */
const PATIENCE_FOR_ONE_MS = 1.5 * TTL_MS;
const SLACK_MS = 1_000;

export const patience: Check = {
  name: 'patience',
  claim: `An entry that lives and that nobody campaigns with holds nobody up for longer than the patience, ${PATIENCE_FOR_ONE_MS} ms at a ttl of ${TTL_MS} ms.`,
  method:
    'A leader; behind it an entry under a live lease that nobody campaigns with; behind that a second process. The leader shuts down. vacancy: from the end of ' +
    "the leader's work to the second being told that it leads.",
  runs: 5,
  parallel: 5,
  open: async () => {
    const etcd = await startEtcd();
    return {
      run: async () => {
        const url = storeUrl([etcd.url], freshNamespace());
        await using store = await openStore(url);
        await using a = await spawnMember(url, 'a');
        await a.waitFor('elected', { withinMs: PATIENCE_MS });
        const timeoutMs = PATIENCE_MS;
        const lease = await store.grantLease(60_000, { at: { monotonicMs: performance.now(), wallMs: Date.now() }, timeoutMs });
        const ghost = 'ghost~0~1~fifo~';
        await store.enqueue(`elections/${ELECTION}/candidates`, ghost, new TextEncoder().encode('{"v":1}'), lease.id, { timeoutMs });
        await using b = await spawnMember(url, 'b');
        while (!(await store.list(`elections/${ELECTION}/candidates`, { timeoutMs })).some(({ name }) => name.startsWith('b~')));
        // No handover: that would name the ghost.
        a.sigkill();
        await a.exited;
        const elected = await b.waitFor('elected', { withinMs: PATIENCE_MS });
        const killedAt = at(a.events.at(-1) ?? elected);
        const vacancyMs = at(elected) - killedAt - TTL_MS;
        assert.ok(vacancyMs <= PATIENCE_FOR_ONE_MS + SLACK_MS, `a vacancy of ${vacancyMs} ms after the lease's end`);
        const left = await store.list(`elections/${ELECTION}/candidates`, { timeoutMs });
        assert.ok(!left.some(({ name }) => name === ghost), 'the entry is gone');
        return { figures: { vacancyMs } };
      },
      [Symbol.asyncDispose]: async () => etcd.stop(),
    };
  },
};
