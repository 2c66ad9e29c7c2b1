import { describe, expect, it } from 'vitest';
import { makeScratch, requireStore } from '@incumbent/test-support';
import { judge } from '../check/verdict.ts';
import { run } from '../run.ts';
import type { StoreName } from '../site/site.ts';
import { tableOf } from '../table.ts';

/** Always the same seed. `pnpm chaos` tries random ones. */
const SEED = 7;
const MINUTES = 0.75;

const stores: readonly StoreName[] = ['consul', 'etcd', 'postgres', 'redis', 'sqlite', 'zookeeper'];

describe('a minute of faults', () => {
  for (const store of stores) {
    // The stores run in parallel, because most of a minute is waiting.
    it.concurrent(`elections on ${store} keep their promises`, { timeout: 300_000 }, async ({ skip }) => {
      if (store !== 'sqlite' && !(await requireStore({ store, own: true }))) skip();
      const folder = await makeScratch('chaos');
      try {
        const { history } = await run({
          store,
          version: 'default',
          forgets: false,
          minutes: MINUTES,
          seed: SEED,
          folder: folder.path,
          say: () => {},
        });
        const verdict = judge(history);
        expect([...verdict.violations, ...verdict.missing], tableOf(history, verdict).join('\n')).toEqual([]);
        expect(verdict.figures.faults).toBeGreaterThan(3);
      } finally {
        await folder.remove();
      }
    });
  }
});
