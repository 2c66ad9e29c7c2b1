/** etcd's `Lease` service. */

import { Reader, Writer } from './protobuf.ts';
import { MAX_SHORT_BYTES, type Rpc } from './rpc.ts';

export interface LeaseAnswer {
  readonly id: bigint;
  /** The ttl that was granted or renewed, in seconds. 0 or less: there is no such lease. */
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

/** The request is the ttl in seconds. The server chooses the id. */
export const leaseGrant: Rpc<bigint, LeaseAnswer> = {
  name: 'LeaseGrant',
  path: '/etcdserverpb.Lease/LeaseGrant',
  maxBytes: MAX_SHORT_BYTES,
  encode: (ttlSeconds) => new Writer().int64(1, ttlSeconds).finish(),
  decode: readLease,
};

/** The request is the lease's id. */
export const leaseRevoke: Rpc<bigint, void> = {
  name: 'LeaseRevoke',
  path: '/etcdserverpb.Lease/LeaseRevoke',
  maxBytes: MAX_SHORT_BYTES,
  encode: (id) => new Writer().int64(1, id).finish(),
  decode: () => undefined,
};

/**
 * The request is the lease's id. etcd defines a stream of requests and answers. Here each renewal
 * has a stream of its own, so that an answer always belongs to its request: on a shared stream, the
 * answer to a renewal that was sent before a revocation may still arrive after it.
 */
export const leaseKeepAlive: Rpc<bigint, LeaseAnswer> = {
  name: 'LeaseKeepAlive',
  path: '/etcdserverpb.Lease/LeaseKeepAlive',
  maxBytes: MAX_SHORT_BYTES,
  encode: (id) => new Writer().int64(1, id).finish(),
  decode: readLease,
};
