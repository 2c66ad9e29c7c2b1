/** What happens to a member's connections to the store. */

import type { Proxy } from '@incumbent/test-support';
import type { MemberFault } from './fault.ts';

/** Of two round trips' time, at the most: a call has a quarter of a ttl. */
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

/** Nothing passes, and nobody is told. */
const cut = linkFault('cut', 3, (proxy) => proxy.blackhole());

/** Requests arrive and are served; no answer comes back. */
const deaf = linkFault('deaf', 2, (proxy) => proxy.dropReplies());

/** Nothing passes on the connections that there are, and nobody is told; new ones work. */
const silent = linkFault('silent', 2, (proxy) => proxy.blackhole({ scope: 'existing' }));

/** Connections are reset, and new ones refused. */
const refuse = linkFault('refuse', 1, (proxy) => {
  proxy.refuse();
  proxy.reset();
});

/** Everything takes longer. */
const slow = linkFault('slow', 1, (proxy, random) => proxy.latency(SLOW_MS[0] + random() * (SLOW_MS[1] - SLOW_MS[0])));

/** Everything stands still, and is delivered late: nothing is lost. */
const stall = linkFault('stall', 1, (proxy) => proxy.stall());

export const linkFaults: readonly MemberFault[] = [cut, deaf, silent, refuse, slow, stall];
