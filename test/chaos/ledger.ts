/** A run's row among the evidence. */

import { append } from '../integration/ledger.ts';
import type { Verdict } from './check/verdict.ts';
import { headerOf, type ChaosEvent } from './history.ts';

const METHOD =
  'Four processes, or as many as the row says, ttl 3,000 ms, three servers (Redis: one; sqlite: a file). A storm of about a minute, a fault about every 5 s, drawn from the seed; then all is healed, and everybody is asked who ' +
  'leads. After every third storm one server is sick, or the watches of all followers are silent, for longer than a new leader may take. Figures of one run: faults that hit; failovers; stale writes that the fence and the store’s guard refused, and that the twin without a fence let through; leases that the store ended ' +
  'early by its own records, and the overlaps that this excuses; the longest time without a leader after all was healed, and while one server was sick, or watches silent, and nothing else was wrong. passed is 1 where no promise was broken and enough happened.';

/** `only`: the faults to which the run was confined, as they were named. */
export function enter(history: readonly ChaosEvent[], { figures, violations, missing }: Verdict, only?: string): void {
  const { store, seed, version, forgets, members } = headerOf(history);
  const hasPassed = violations.length === 0 && missing.length === 0;
  const page = {
    name: `chaos-${store}${only === undefined ? '' : `-${only.replaceAll(',', '-')}`}`,
    claim: `Elections on ${store} keep their promises while ${only === undefined ? 'processes, connections and servers fail, two hours in all' : `faults of one kind come: ${only}`}.`,
    method: METHOD,
    command: `pnpm chaos --store ${store}${only === undefined ? '' : ` --only ${only}`}`,
    asks: only === undefined ? 'two hours in all without a violation' : 'no violation',
  };
  append(page, {
    seed,
    passed: hasPassed ? 1 : 0,
    failed: hasPassed ? 0 : 1,
    figures: [figures],
    on: `${store} ${version}${forgets === true ? ' that keeps nothing when it is killed' : ''}, ${members.length} members`,
  });
}
