/** Faults of a member's connections to the store. */

import type { Proxy } from '@incumbent/test-support';
import type { MemberFault } from './fault.ts';

/**
 * The added latency, in ms. At most two round trips must fit into a call's timeout, a quarter of a
 * ttl.
 */
const SLOW_MS = [20, 400] as const;

function linkFault(name: string, weight: number, begin: (proxy: Proxy, random: () => number) => void): MemberFault {
  return {
    name,
    on: 'member',
    weight,
    appliesTo: ({ servers }) => servers.length > 0,
    begin: async ({ way: { proxies } }, _forMs, random) => {
      for (const proxy of proxies) begin(proxy, random);
      return async () => void (await Promise.all(proxies.map((proxy) => proxy.heal())));
    },
  };
}

/** Nothing passes, and neither side is notified. */
const cut = linkFault('cut', 3, (proxy) => proxy.blackhole());

/** Requests arrive and are served, and no answer comes back. */
const deaf = linkFault('deaf', 2, (proxy) => proxy.dropReplies());

/**
 * Nothing passes on the existing connections, and neither side is notified. New connections work.
 */
const silent = linkFault('silent', 2, (proxy) => proxy.blackhole({ scope: 'existing' }));

/** Connections are reset, and new ones refused. */
const refuse = linkFault('refuse', 1, (proxy) => {
  proxy.refuse();
  proxy.reset();
});

/** Everything takes longer. */
const slow = linkFault('slow', 1, (proxy, random) => proxy.latency(SLOW_MS[0] + random() * (SLOW_MS[1] - SLOW_MS[0])));

/** Everything is held and delivered late. Nothing is lost. */
const stall = linkFault('stall', 1, (proxy) => proxy.stall());

export const linkFaults: readonly MemberFault[] = [cut, deaf, silent, refuse, slow, stall];
