import { requireEngine, useEngine, type UsedEngine } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { electInContainer } from './checks/containers.ts';
import { etcdHost } from './checks/hosts.ts';

// All stores, with all their tests: `pnpm verify containers`.
describe.runIf(await requireEngine())('servers in containers', () => {
  let used: UsedEngine;

  // The first time, Docker and etcd are downloaded.
  beforeAll(async () => {
    used = await useEngine();
  }, 180_000);
  afterAll(() => used[Symbol.asyncDispose]());

  it('carry an election through a pause and a kill of the container', { timeout: 120_000 }, async () => {
    const figures = await electInContainer(used.engine, etcdHost);
    expect(Object.values(figures).every(Number.isFinite)).toBe(true);
  });
});
