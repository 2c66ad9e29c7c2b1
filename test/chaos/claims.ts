/** What `pnpm chaos` claims, for each store. */

import type { Claim } from '../integration/evidence/page.ts';
import { sites } from './site/index.ts';

const METHOD =
  'Four processes, or as many as the line says, ttl 3,000 ms, three servers (Redis: one; sqlite: a file). A storm of about a minute, a fault about every 5 s, drawn from the seed; then all is healed, and everybody is asked who ' +
  'leads. Figures of one run: faults that hit; failovers; stale writes that the fence and the store’s guard refused, and that the twin without a fence let through; leases that the store ended ' +
  'early, and what that excuses; the longest time without a leader after all was healed. passed is 1 where no promise was broken and enough happened.';

export const chaosClaims: readonly Claim[] = Object.keys(sites).map((store) => ({
  name: `chaos-${store}`,
  claim: `Elections on ${store} keep their promises while processes, connections and servers fail.`,
  method: METHOD,
  command: `pnpm chaos --store ${store}`,
  asks: 'two hours in all without a violation',
}));
