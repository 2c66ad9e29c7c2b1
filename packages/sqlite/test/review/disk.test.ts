/** REVIEW, failed, and was mended meanwhile: a disk that cannot be written can be read, and what has ended is not shown, swept away or not. */

import { until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { Code, sqliteError } from '../faulty-disk.ts';
import { readHost } from '../../src/host/host.ts';
import { inTime, now, watched, World } from './world.ts';

const bytes = new Uint8Array([1]);

describe.each([
  ['full', Code.full],
  ['read-only', Code.readonly],
] as const)('on a disk that is %s', (_name, code) => {
  it('a watch shows that a lease has ended', async () => {
    await using world = new World();
    const clock = { us: 1_000_000_000 };
    const host = { ...readHost(), nowUs: () => clock.us };
    const other = await world.open(host);
    const lease = await other.grantLease(1_000, now());
    await other.enqueue('queue', 'a', bytes, lease.id, inTime);
    let broken = false;
    // What writes fails; what reads does not.
    const connect = watched((sql) => {
      if (broken && /^\s*(?:INSERT|UPDATE|DELETE|COMMIT)/.test(sql)) throw sqliteError(code);
    });
    const store = await world.open(host, connect);
    let shown: unknown = 'nothing yet';
    let stales = 0;
    let failure: unknown;
    void (async () => {
      const options = { signal: new AbortController().signal, onStale: () => (stales += 1) };
      for await (const state of store.watch('queue/a', options)) shown = state?.name;
    })().catch((error: unknown) => (failure = error));
    await until(() => shown === 'a', { what: 'the entry', withinMs: 2_000 });
    broken = true;
    clock.us += 2_000_000;
    await until(() => shown === undefined || failure !== undefined, { what: 'the end', withinMs: 3_000 });
    expect(failure).toBeUndefined();
    expect(stales).toBe(0);
  });
});
