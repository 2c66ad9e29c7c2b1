/**
 * Binds the key `held` to a lease, and renews the lease as often as it can. The check
 * `sqlite-reads` starts it.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { openStore } from 'incumbent';
import { emit } from '@incumbent/test-support/child';

const [url = 'memory:'] = process.argv.slice(2);
const call = { timeoutMs: 30_000 };
const moment = (): { monotonicMs: number; wallMs: number } => ({ monotonicMs: performance.now(), wallMs: Date.now() });

const store = await openStore(url);
const { id } = await store.grantLease(60_000, { ...call, at: moment() });
await store.compareAndSwap([{ key: 'held', expect: null, put: new Uint8Array([1]), lease: id }], call);
emit('holds');
for (let renewals = 1; ; renewals += 1) {
  await store.renewLease(id, { ...call, at: moment() });
  if (renewals % 1_000 === 0) emit('renewed', { renewals });
  await nextTurn();
}
