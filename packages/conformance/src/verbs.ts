/** Every call of the contract that asks once and is answered once, for claims that hold of all. */

import type { CallOptions, Lease } from '@incumbent/core';
import { bytes, type Client } from './client.ts';

export interface VerbCall {
  readonly verb: string;
  readonly call: (options: CallOptions) => Promise<unknown>;
}

/** One call of each kind that would succeed on a healthy link; `lease` is a live one. Each may be made once. */
export function everyVerb(client: Client, lease: Lease): readonly VerbCall[] {
  const { store } = client;
  const { at } = client.leaseCall();
  return [
    { verb: 'grantLease', call: (options) => store.grantLease(lease.ttlMs, { ...options, at }) },
    { verb: 'renewLease', call: (options) => store.renewLease(lease.id, { ...options, at }) },
    { verb: 'compareAndSwap', call: (options) => store.compareAndSwap([{ key: 'swapped', expect: null, put: bytes('') }], options) },
    { verb: 'enqueue', call: (options) => store.enqueue('queued', 'name', bytes(''), lease.id, options) },
    { verb: 'read', call: (options) => store.read('swapped', options) },
    { verb: 'list', call: (options) => store.list('queued', options) },
    { verb: 'revokeLease', call: (options) => store.revokeLease(lease.id, options) },
  ];
}
