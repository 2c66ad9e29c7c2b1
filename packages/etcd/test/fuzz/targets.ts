/**
 * What the fuzzer feeds to the readers of what an etcd server says: gRPC frames, messages, and its
 * version.
 */

import assert from 'node:assert/strict';

import { isIncumbentError } from '@incumbent/core';
import { framesTarget, mayRefuse, type FuzzTarget } from '@incumbent/test-support/fuzz';
import { Deframer } from '@incumbent/network';
import fc from 'fast-check';

import { leaseIdOf, leaseNumberOf, modRevisionOf, Namespace, revisionOf } from '../../src/namespace.ts';
import { frame, grpcFraming } from '../../src/protocol/frame.ts';
import { checkVersion, endsEarly } from '../../src/capabilities.ts';
import { authenticate, status } from '../../src/protocol/admin.ts';
import { range, txn, type KeyValue } from '../../src/protocol/kv.ts';
import { leaseGrant, leaseKeepAlive } from '../../src/protocol/lease.ts';
import { MalformedMessage, Reader, Writer } from '../../src/protocol/protobuf.ts';
import { decodeWatchAnswer } from '../../src/protocol/watch.ts';

const isMalformed = (error: unknown): boolean => error instanceof MalformedMessage;

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const revision = fc.bigInt({ min: 1n, max: 2n ** 40n });
const header = revision.map((at) => new Writer().int64(1, 7n).int64(2, 8n).int64(3, at).int64(4, 2n));
const keyValue = fc
  .tuple(fc.constantFrom('ns/a', 'ns/elections/e/leader', 'x'), revision, revision, fc.uint8Array({ maxLength: 30 }), int64)
  .map(([key, created, modified, value, lease]) =>
    new Writer().string(1, key).int64(2, created).int64(3, modified).int64(4, 1n).bytes(5, value).int64(6, lease),
  );
const rangeAnswer = fc.tuple(header, fc.array(keyValue, { maxLength: 3 })).map(([head, kvs]) => {
  const message = new Writer().message(1, head);
  for (const kv of kvs) message.message(2, kv);
  return message.int64(4, BigInt(kvs.length));
});
const txnAnswer = fc.tuple(header, fc.boolean(), fc.array(rangeAnswer, { maxLength: 3 })).map(([head, succeeded, ranges]) => {
  const message = new Writer().message(1, head).bool(2, succeeded);
  for (const one of ranges) message.message(3, new Writer().message(1, one));
  return message;
});
const leaseAnswer = fc.tuple(header, int64, int64).map(([head, id, ttl]) => new Writer().message(1, head).int64(2, id).int64(3, ttl));
const watchAnswer = fc
  .tuple(header, int64, fc.boolean(), fc.boolean(), int64, fc.array(fc.tuple(fc.bigInt({ min: 0n, max: 2n }), keyValue), { maxLength: 3 }))
  .map(([head, id, created, canceled, compacted, events]) => {
    const message = new Writer().message(1, head).int64(2, id).bool(3, created).bool(4, canceled).int64(5, compacted).string(6, 'why');
    for (const [type, kv] of events) message.message(11, new Writer().int64(1, type).message(2, kv));
    return message;
  });
const answer = fc.oneof(rangeAnswer, txnAnswer, leaseAnswer, watchAnswer).map((message) => message.finish());

const namespace = new Namespace('ns');

function checkKeyValue(kv: KeyValue): void {
  const entry = namespace.entry(kv);
  if (entry.lease !== undefined) assert.equal(leaseNumberOf(entry.lease), kv.lease);
  if (kv.modRevision > 0n) assert.equal(modRevisionOf(revisionOf(kv.modRevision)), kv.modRevision);
  assert.equal(leaseNumberOf(leaseIdOf(kv.lease)), kv.lease === 0n ? undefined : kv.lease);
}

const decoders: readonly ((message: Uint8Array) => void)[] = [
  (message) => range.decode(message).kvs.forEach(checkKeyValue),
  (message) => txn.decode(message).ranges.forEach((one) => one?.kvs.forEach(checkKeyValue)),
  (message) => decodeWatchAnswer(message).events.forEach(({ kv }) => checkKeyValue(kv)),
  (message) => void leaseGrant.decode(message),
  (message) => void leaseKeepAlive(7n).decode(message),
  (message) => void authenticate.decode(message),
  (message) => void status.decode(message),
  (message) => {
    const reader = new Reader(message);
    while (reader.next() !== undefined);
  },
];

const messages: FuzzTarget = {
  name: 'messages',
  inputs: answer,
  read: (input) => {
    for (const decode of decoders) mayRefuse(isMalformed, () => decode(input));
  },
  isRefusal: isMalformed,
};

/**
 * A deframer takes a buffer as long as the message that is announced: short ones let one input try
 * several deframers.
 */
const MAX_BYTES = 2 ** 16;

const SHORT_FRAMING = grpcFraming(() => MAX_BYTES);

const frames = framesTarget({
  inputs: fc.array(fc.oneof(answer, fc.uint8Array({ maxLength: 20 })), { maxLength: 4 }).map((all) => Buffer.concat(all.map(frame))),
  frame,
  open: () => new Deframer(SHORT_FRAMING),
  isRefusal: isMalformed,
});

const versions: FuzzTarget = {
  name: 'versions',
  inputs: fc
    .tuple(fc.integer({ min: 0, max: 5 }), fc.nat(10), fc.nat(50), fc.constantFrom('', '-rc.1', '+git'))
    .map(([major, minor, patch, more]) => new TextEncoder().encode(`${major}.${minor}.${patch}${more}`)),
  words: ['3.4.31', '3.5.13', '99999999999999999999'],
  read: (input) => {
    const version = new TextDecoder().decode(input);
    checkVersion(version);
    assert.ok(endsEarly(version).startsWith('etcd '));
  },
  isRefusal: (error) => isIncumbentError(error, 'UNSUPPORTED'),
};

export const targets: readonly FuzzTarget[] = [messages, frames, versions];
