/**
 * The reaper process gets a store's credentials over the pipe. Other users of the machine can see
 * its arguments, and its environment may be readable.
 */

import { readFileSync } from 'node:fs';

import { systemClock } from '@incumbent/core';
import { openMemory } from '@incumbent/memory';
import { until } from '@incumbent/test-support';
import { MARKER, showing } from '@incumbent/test-support/traces';
import { expect, it } from 'vitest';

import { reaper } from '../src/index.ts';

it.runIf(process.platform === 'linux')('the credentials of a store are in neither its arguments nor its environment', async () => {
  const revocation = { module: 'file:///none.js', access: JSON.stringify({ token: MARKER }), ticketOf: () => MARKER };
  const store = Object.assign(await openMemory(), { revocation });
  const pids: number[] = [];
  const emit = (event: string, fields: object): void => {
    if (event === 'reaperReady' && 'pid' in fields) pids.push(Number(fields.pid));
  };
  const handle = reaper().join({ store, clock: systemClock, emit });
  const lease = handle.watch('7');
  await until(() => pids.length > 0, { what: 'the reaper process is ready' });
  for (const file of ['cmdline', 'environ']) {
    const text = readFileSync(`/proc/${pids[0]}/${file}`, 'utf8');
    expect(text).not.toBe('');
    expect(showing([text])).toEqual([]);
  }
  lease.forget();
  await handle.close();
  await store.close();
});
