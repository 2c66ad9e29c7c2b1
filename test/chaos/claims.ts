/** The claims of `pnpm chaos`, one for each store. */

import type { Claim } from '../integration/evidence/page.ts';
import { sites } from './site/index.ts';

const METHOD =
  'Four processes, or as many as the line says, ttl 3,000 ms, three servers (PostgreSQL and Redis: one; sqlite: a file). A storm of about a minute, a fault about every 5 s, drawn from the seed; then all is healed, and everybody is asked who ' +
  'leads. After every third storm one server is sick, or the watches of all followers are silent, for longer than a new leader may take. Figures of one run: faults that hit; failovers; stale writes that the fence and the store’s guard refused, and that the twin without a fence let through; leases that the store ended ' +
  'early by its own records, and the overlaps that this excuses; the longest time without a leader after all was healed, and while one server was sick, or watches silent, and nothing else was wrong. passed is 1 where no promise was broken and enough happened.';

export const chaosClaims: readonly Claim[] = Object.keys(sites).map((store) => ({
  name: `chaos-${store}`,
  claim: `Elections on ${store} keep their promises while processes, connections and servers fail.`,
  method: METHOD,
  command: `pnpm chaos --store ${store}`,
  asks: 'two hours in all without a violation',
}));
