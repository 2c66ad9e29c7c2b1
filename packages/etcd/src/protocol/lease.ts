/** etcd's `Lease` service. */

import { MalformedMessage, Reader, Writer } from './protobuf.ts';
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

/** An empty message, or another service's, would look like a lease without an id. */
function readGrant(message: Uint8Array): LeaseAnswer {
  const granted = readLease(message);
  if (granted.id === 0n || granted.ttlSeconds <= 0n) throw new MalformedMessage('the answer to a grant has no lease');
  return granted;
}

/** A call of the service whose request is one number: a lease's id, or a ttl. */
function leaseCall<Answer>(name: string, decode: (message: Uint8Array) => Answer): Rpc<bigint, Answer> {
  return { name, path: `/etcdserverpb.Lease/${name}`, maxBytes: MAX_SHORT_BYTES, encode: numberMessage, decode };
}

function numberMessage(request: bigint): Uint8Array {
  return new Writer().int64(1, request).finish();
}

/** The request is the ttl in seconds. The server chooses the id. */
export const leaseGrant: Rpc<bigint, LeaseAnswer> = leaseCall('LeaseGrant', readGrant);

/** The request is the lease's id. */
export const leaseRevoke: Rpc<bigint, void> = leaseCall('LeaseRevoke', () => undefined);

/**
 * Renews one lease. The answer must name the lease: an empty message, or another service's, would
 * look like the answer for a lease that is gone. etcd defines a stream of requests and answers.
 * Here each renewal has a stream of its own, so that an answer always belongs to its request: on a
 * shared stream, the answer to a renewal that was sent before a revocation may still arrive after
 * it.
 */
export function leaseKeepAlive(id: bigint): Rpc<void, LeaseAnswer> {
  const decode = (message: Uint8Array): LeaseAnswer => {
    const renewed = readLease(message);
    if (renewed.id !== id) throw new MalformedMessage(`the answer to the renewal of lease ${id} names lease ${renewed.id}`);
    return renewed;
  };
  return { ...leaseCall('LeaseKeepAlive', decode), encode: () => numberMessage(id) };
}
