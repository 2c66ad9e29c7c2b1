import { readFileSync } from 'node:fs';
import { requireStore } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';
import { columns } from './stores-columns.ts';
import { PAGE, pageOf } from './stores-page.ts';

const there = await Promise.all(
  (['consul', 'etcd', 'kubernetes', 'postgres', 'redis', 'zookeeper'] as const).map((store) => requireStore({ store, own: true })),
);

/** A new point release of a server leaves the page true. Its version may break lines elsewhere. */
function withoutVersions(page: string): string {
  return page.replaceAll(/\s+/g, ' ').replaceAll(/\b(Consul|etcd|Kubernetes|PostgreSQL|Redis|ZooKeeper) \d[\d.]*/g, '$1 VERSION');
}

describe.runIf(there.every(Boolean))('the page of all stores', () => {
  it('says what the stores say; if not: pnpm stores', async () => {
    expect(withoutVersions(readFileSync(PAGE, 'utf8'))).toBe(withoutVersions(pageOf(await columns())));
  });
});
