/** etcd's `Lease` service. */

import { Reader, Writer } from './protobuf.ts';
import type { Rpc } from './rpc.ts';

export interface LeaseAnswer {
  readonly id: bigint;
  /** What was granted, or what a renewal set anew, in seconds. 0 or less: there is no such lease. */
  readonly ttlSeconds: bigint;
}

function readLease(message: Uint8Array): LeaseAnswer {
  const reader = new Reader(message);
  let [id, ttlSeconds] = [0n, 0n];
  for (let field = reader.next(); field !== undefined; field = reader.next()) {
    if (field === 2) id = reader.int64();
    else if (field === 3) ttlSeconds = reader.int64();
  }
  return { id, ttlSeconds };
}

/** Takes the ttl in seconds; the server chooses the id. */
export const leaseGrant: Rpc<bigint, LeaseAnswer> = {
  name: 'LeaseGrant',
  path: '/etcdserverpb.Lease/LeaseGrant',
  encode: (ttlSeconds) => new Writer().int64(1, ttlSeconds).finish(),
  decode: readLease,
};

/** Takes the lease's id. */
export const leaseRevoke: Rpc<bigint, void> = {
  name: 'LeaseRevoke',
  path: '/etcdserverpb.Lease/LeaseRevoke',
  encode: (id) => new Writer().int64(1, id).finish(),
  decode: () => undefined,
};

/**
 * Takes the lease's id. To etcd a stream of requests and answers; used here for one request, whose stream ends with it. So an answer can
 * be to no other request than its own: on a stream that is kept, one that was sent before a revoke may still arrive after it.
 */
export const leaseKeepAlive: Rpc<bigint, LeaseAnswer> = {
  name: 'LeaseKeepAlive',
  path: '/etcdserverpb.Lease/LeaseKeepAlive',
  encode: (id) => new Writer().int64(1, id).finish(),
  decode: readLease,
};
