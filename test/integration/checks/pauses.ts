/** A leader that is cut off or stopped. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../history.ts';
import type { Check } from './check.ts';
import type { Host } from './hosts.ts';
import { at, lastValid, onPair, WAIT_MS, TTL_MS } from './pair.ts';

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
