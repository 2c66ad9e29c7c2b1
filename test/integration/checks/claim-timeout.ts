/** An entry in the queue whose lease is live, and that never claims. */

import assert from 'node:assert/strict';
import { openStore } from 'incumbent';
import { startEtcd } from '@incumbent/test-support';
import { onServer, type Check } from './check.ts';
import { at, ELECTION, freshNamespace, WAIT_MS, spawnMember, storeUrl, TTL_MS } from './pair.ts';

/** The claim timeout of the candidate right behind the entry: ttl + position × half a ttl. */
const CLAIM_TIMEOUT_MS = 1.5 * TTL_MS;
const SLACK_MS = 1_000;

export const claimTimeout: Check = {
  name: 'claim-timeout',
  claim: `An entry under a live lease that never claims delays the next candidate by at most the claim timeout, ${CLAIM_TIMEOUT_MS} ms at a ttl of ${TTL_MS} ms.`,
  method:
    'A leader; behind it an entry under a live lease that never claims; behind that a second process. ' +
    'The leader is killed. vacancy: from the end of its lease until the second process is elected.',
  runs: 5,
  parallel: 5,
  open: onServer(
    () => startEtcd(),
    async (etcd) => {
      const url = storeUrl([etcd.url], freshNamespace());
      await using store = await openStore(url);
      await using a = await spawnMember(url, 'a');
      await a.waitFor('elected', { withinMs: WAIT_MS });
      const timeoutMs = WAIT_MS;
      const lease = await store.grantLease(60_000, { at: { monotonicMs: performance.now(), wallMs: Date.now() }, timeoutMs });
      const orphan = 'orphan~0~1~fifo~';
      await store.enqueue(`elections/${ELECTION}/candidates`, orphan, new TextEncoder().encode('{"v":1}'), lease.id, { timeoutMs });
      await using b = await spawnMember(url, 'b');
      while (!(await store.list(`elections/${ELECTION}/candidates`, { timeoutMs })).some(({ name }) => name.startsWith('b~')));
      // Not a handover, which would name the orphaned entry as the successor.
      a.sigkill();
      await a.exited;
      const elected = await b.waitFor('elected', { withinMs: WAIT_MS });
      const killedAt = at(a.events.at(-1) ?? elected);
      const vacancyMs = at(elected) - killedAt - TTL_MS;
      assert.ok(vacancyMs <= CLAIM_TIMEOUT_MS + SLACK_MS, `a vacancy of ${vacancyMs} ms after the lease's end`);
      const left = await store.list(`elections/${ELECTION}/candidates`, { timeoutMs });
      assert.ok(!left.some(({ name }) => name === orphan), 'the entry is gone');
      return { figures: { vacancyMs } };
    },
  ),
};
