/**
 * `pnpm trace`: cuts a leader off from an etcd server, and draws the trace of the failover into
 * docs/failover-trace.svg.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startEtcd } from '@incumbent/test-support';
import { traceFailover } from '../test/integration/traced-failover.ts';
import { pictureOf } from '../test/integration/trace-picture.ts';

const PICTURE = join(import.meta.dirname, '../docs/failover-trace.svg');

const server = await startEtcd();
try {
  const storeUrl = (endpoint: string): string => `etcd://${new URL(endpoint).host}/trace`;
  const failover = await traceFailover('partition', { server, storeUrl, ttlMs: 5_000, stopMs: 200 });
  const title = 'The trace of a failover: broker-1, the leader, is cut off from etcd (ttl 5 s)';
  writeFileSync(PICTURE, pictureOf(failover, title, { a: 'broker-1', b: 'broker-2', c: 'broker-3' }));
} finally {
  await server.stop();
}
