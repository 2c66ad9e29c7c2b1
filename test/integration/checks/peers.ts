/** Members without a store whose processes are killed. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Check } from './check.ts';
import { WAIT_MS } from './pair.ts';
import { PeerGroup } from './peer-group.ts';

const IDS = ['a', 'b', 'c', 'd', 'e'];
const TIMEOUT_MIN_MS = 500;
/** The longest election timeout. Members draw theirs between the shortest and this one. */
const TIMEOUT_MAX_MS = 2 * TIMEOUT_MIN_MS;
const TIMEOUTS = 3;

export const peerKills: Check = {
  name: 'peer-kills',
  claim: `Of five processes that elect among themselves over TCP the leader is killed 100 times; each time another leads within ${TIMEOUTS} election timeouts, no two ever consider themselves leader, and terms rise.`,
  method:
    `Election timeouts of ${TIMEOUT_MIN_MS} to ${TIMEOUT_MAX_MS} ms; what counts is the longest, so ${TIMEOUTS * TIMEOUT_MAX_MS} ms. The leader gets SIGKILL at a random phase, once all five see it, and is started again on its vote file. ` +
    'next: from the moment before the kill to the next one being told that it leads, by the clock that all processes of the machine share. Whoever leads asks itself every 5 ms; after each kill the history of all kills so far is checked, ' +
    'and that no connection and no message was refused, but of a process that did not answer in time (slow: how often, until then). leaderships: all until then; beyond one for each kill and the first, a leader was lost though nobody had killed it.',
  runs: 100,
  parallel: 1,
  open: async () => {
    const group = await PeerGroup.open(IDS, TIMEOUT_MIN_MS);
    return {
      run: async (_index, { random, isTimed }) => {
        await group.complete();
        await sleep(random() * TIMEOUT_MIN_MS);
        const nextMs = await group.killLeader();
        const boundMs = isTimed ? TIMEOUTS * TIMEOUT_MAX_MS : WAIT_MS;
        assert.ok(nextMs < boundMs, `the next one led after ${nextMs} ms`);
        return { figures: { nextMs, inTimeouts: nextMs / TIMEOUT_MAX_MS, ...group.check() } };
      },
      [Symbol.asyncDispose]: async () => group[Symbol.asyncDispose](),
    };
  },
};
