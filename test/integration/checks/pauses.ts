/** A leader that is cut off, stopped or killed. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkHistory } from '@incumbent/conformance';
import { historyOf, now } from '../history.ts';
import { onServer, type Check } from './check.ts';
import type { Host } from './hosts.ts';
import { at, ELECTION, freshNamespace, lastValid, onPair, spawnMember, storeUrl, termOf, TTL_MS, WAIT_MS } from './pair.ts';

export const blackhole = (host: Host): Check => ({
  name: `${host.prefix}blackhole`,
  claim: 'A leader whose link is blackholed (nothing is reset) stops considering itself leader before the next one leads.',
  method:
    `Two processes, ttl ${TTL_MS} ms, on one ${host.store}; the leader's TCP connection is swallowed both ways at a random phase of its renewals. ` +
    'margin: from its last isValid() that was true (asked every 5 ms) to the moment at which the next one is told that it leads.',
  runs: 20,
  parallel: 4,
  open: onPair(host, async (pair, { random }) => {
    await sleep(random() * TTL_MS * 0.7);
    const cutAt = now();
    pair.proxy.blackhole();
    const elected = await pair.b.waitFor('elected', { withinMs: WAIT_MS });
    const marginMs = at(elected) - lastValid(pair.a, pair.term);
    assert.ok(marginMs > 0, `two leaders for ${-marginMs} ms`);
    return { marginMs, failoverMs: at(elected) - cutAt };
  }),
});

export const sigstop = (host: Host): Check => ({
  name: `${host.prefix}sigstop`,
  claim: 'A leader stopped by SIGSTOP for longer than its ttl never says that it leads after SIGCONT.',
  method:
    `Two processes, ttl ${TTL_MS} ms, on one ${host.store}; the leader is stopped at a random phase, and woken up to a second after the next one leads. ` +
    'It asks itself every 5 ms; stale: how many times it said yes after another had been elected.',
  runs: 20,
  parallel: 4,
  open: onPair(host, async (pair, { random }) => {
    await sleep(random() * TTL_MS * 0.3);
    const stoppedAt = now();
    pair.a.sigstop();
    const elected = await pair.b.waitFor('elected', { withinMs: WAIT_MS });
    await sleep(random() * 1_000);
    const wokenAt = now();
    pair.a.sigcont();
    const ended = await pair.a.waitFor('ended', { withinMs: WAIT_MS });
    await sleep(500);
    const stale = pair.events().filter((event) => event.type === 'valid' && event.member === 'a' && event.at > at(elected)).length;
    assert.equal(stale, 0);
    return { stale, failoverMs: at(elected) - stoppedAt, toldAfterWakingMs: at(ended) - wokenAt };
  }),
});

/** The ttl of a leader that is killed, in ms. */
const CRASH_TTL_MS = 2_000;
const FOLLOWS_WITHIN_MS = 2_200;

/** For stores that end a lease a few ms after its ttl. */
export const crash = (host: Host): Check => ({
  name: `${host.prefix}crash`,
  claim: `A leader that is killed (kill -9) is followed within ${FOLLOWS_WITHIN_MS} ms at a ttl of ${CRASH_TTL_MS} ms.`,
  method:
    `Two processes, ttl ${CRASH_TTL_MS} ms, on one ${host.store}; the leader is killed at a random phase of its renewals. next: from the kill to the other one being told that it ` +
    'leads, in the next term.',
  runs: 20,
  parallel: 2,
  open: onServer(
    () => host.start(),
    async (server, { random, isTimed }) => {
      const url = storeUrl([server.url], freshNamespace(), host.store);
      await using a = await spawnMember(url, 'a', CRASH_TTL_MS);
      const first = await a.waitFor('elected', { withinMs: WAIT_MS });
      await using b = await spawnMember(url, 'b', CRASH_TTL_MS);
      await sleep(CRASH_TTL_MS / 2 + random() * CRASH_TTL_MS);
      a.sigkill();
      const killedAt = now();
      const elected = await b.waitFor('elected', { withinMs: WAIT_MS });
      const nextMs = at(elected) - killedAt;
      assert.equal(termOf(elected), termOf(first) + 1n);
      assert.ok(!isTimed || nextMs <= FOLLOWS_WITHIN_MS, `it took ${nextMs} ms`);
      const events = [...historyOf(a, 'a', ELECTION), { type: 'died' as const, at: killedAt, member: 'a' }, ...historyOf(b, 'b', ELECTION)];
      assert.deepEqual(checkHistory(events, { unfinished: true }), []);
      return { figures: { nextMs } };
    },
  ),
});
