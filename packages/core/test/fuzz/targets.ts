/**
 * What the fuzzer feeds to core: the records and values under a store's keys, and what errors show
 * of text.
 */

import assert from 'node:assert/strict';

import type { FuzzTarget } from '@incumbent/test-support/fuzz';
import fc from 'fast-check';

import { payloadCodec, valueCodec } from '../../src/protocol/value-codec.ts';
import { isIncumbentError, type Entry } from '../../src/index.ts';
import * as recordCodec from '../../src/protocol/record.ts';
import { writeHandoverTerm } from '../../src/protocol/mark.ts';
import { showUrl } from '../../src/base/redact.ts';
import { entryOf } from '../support/entries.ts';

const text = fc.string({ maxLength: 20 });
const term = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n });
const payload: fc.Arbitrary<recordCodec.Payload> = fc.oneof(
  fc.constant(undefined),
  fc.jsonValue({ maxDepth: 2 }).map((value) => ({ json: JSON.parse(JSON.stringify(value)) as unknown })),
  fc.base64String().map((bytes) => ({ bytes })),
);
const identity = { memberId: text, incarnation: text };
const previous = fc.record({ term, memberId: fc.constantFrom('a', 'b-1'), reason: fc.constantFrom('resigned', 'expired') });
const ended = fc.oneof(fc.record({ reason: text }), fc.record({ reason: text, successor: text, first: fc.boolean() }));

/** Bytes that a user's own codec takes as they are. */
const bytes = payloadCodec<Uint8Array>({ codec: { encode: (value) => value, decode: (value) => value } });
const json = payloadCodec<unknown>({});

/**
 * A record of this kind, what is written of it, and what is read of that again, without what is
 * kept unread.
 */
function again<T extends object>(read: (entry: Entry) => T, write: (record: T) => Uint8Array): (entry: Entry) => void {
  return (entry) => {
    const record = read(entry);
    assert.equal(shown(read(entryOf('again', write(record)))), shown(record));
    const value = 'payload' in record && isPayload(record.payload) ? record.payload : undefined;
    if (value === undefined) return;
    const codec = 'bytes' in value ? bytes : json;
    const decoded = codec.decode(value, 'again');
    assert.equal(shown(codec.decode(codec.encode(decoded as Uint8Array), 'again')), shown(decoded));
  };
}

function isPayload(value: unknown): value is recordCodec.Payload {
  return value === undefined || (typeof value === 'object' && value !== null && ('json' in value || 'bytes' in value));
}

/**
 * As JSON, which cannot tell an infinity from null, nor -0 from 0; without `raw`, which has the
 * fields that this version does not know.
 */
function shown(record: unknown): string {
  return JSON.stringify(record, (name, part: unknown) => {
    if (name === 'raw') return undefined;
    // A field that `read` adds may come before or after another one.
    if (name === '' && typeof part === 'object' && part !== null) return Object.fromEntries(Object.entries(part).toSorted(byName));
    return typeof part === 'bigint' ? `${part}n` : part;
  });
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}

const kinds: readonly ((entry: Entry) => void)[] = [
  again(recordCodec.readLeader, recordCodec.writeLeader),
  again(recordCodec.readTerm, (record) => recordCodec.writeTerm(record, undefined)),
  again(recordCodec.readTerm, (record) => recordCodec.writeTerm(record, record)),
  again(
    ({ value }) => {
      const { payload: published, termFloor, seenTerm } = recordCodec.readCandidate(entryOf('k', value));
      return { payload: published, termFloor, seenTerm };
    },
    (record) => recordCodec.writeCandidate(record.payload, record.termFloor, record.seenTerm),
  ),
  again(
    (entry) => ({ ...recordCodec.readCandidate(entry), handoverTerm: 3n }),
    (record) => writeHandoverTerm(entryOf('k', record.raw), 3n),
  ),
  again(
    (entry) => ({ ...recordCodec.readCandidate(entry), stepDown: true }),
    (record) => recordCodec.writeStepDown(entryOf('k', record.raw)),
  ),
  again(
    (entry) => ({ ...recordCodec.readCandidate(entry), handTo: 'b' }),
    (record) => recordCodec.writeRequest(entryOf('k', record.raw), 'b'),
  ),
  again(recordCodec.readMember, recordCodec.writeMember),
  again(recordCodec.readGroup, recordCodec.writeGroup),
];

const records: FuzzTarget = {
  name: 'records',
  inputs: fc.oneof(
    fc.record({ term, ...identity, entry: text, payload }).map(recordCodec.writeLeader),
    fc.record({ term, ...identity, entry: text, payload, previous, publication: fc.integer({ min: 1 }) }).map(recordCodec.writeLeader),
    fc
      .tuple(fc.record({ term, ...identity, entry: text }), fc.option(ended, { nil: undefined }))
      .map(([record, end]) => recordCodec.writeTerm(end === undefined ? record : { ...record, ended: end }, undefined)),
    fc
      .tuple(payload, fc.oneof(fc.constant(0n), term), fc.oneof(fc.constant(0n), term))
      .map(([value, floor, seen]) => recordCodec.writeCandidate(value, floor, seen)),
    fc.record({ incarnation: text, ttlMs: fc.integer({ min: 1 }) }).map(recordCodec.writeMember),
    fc.record({ ...identity, payload }).map(recordCodec.writeGroup),
    fc
      .tuple(payload, term)
      .map(([value, handoverTerm]) => writeHandoverTerm(entryOf('k', recordCodec.writeCandidate(value, 0n, 0n)), handoverTerm)),
  ),
  words: [
    '"v":1',
    '"v":2',
    '"term":"',
    '"memberId":',
    '"entry":',
    '"ended":{"reason":',
    '"previous":{"term":"1","memberId":"a","reason":"',
    '"bytes":"',
    '"value":',
    '[[[[',
    '{"a":',
    '1e999',
    '__proto__',
  ],
  read: (input) => {
    for (const read of kinds) {
      try {
        read(entryOf('some/key', input));
      } catch (error) {
        if (!isForeign(error)) throw error;
      }
    }
  },
  isRefusal: () => false,
};

function isForeign(error: unknown): boolean {
  return isIncumbentError(error, 'FOREIGN_DATA', 'NEWER_FORMAT');
}

const stored = valueCodec<unknown>({});

/** The value of a key that `leadership.stored` reads. */
const values: FuzzTarget = {
  name: 'values',
  inputs: fc.jsonValue({ maxDepth: 3 }).map((value) => stored.encode(value)),
  words: ['[[[[', '{"a":', '1e999', '-0', '__proto__', '"\\ud800"'],
  read: (input) => {
    const written = stored.encode(stored.decode(input));
    assert.deepEqual(stored.encode(stored.decode(written)), written);
  },
  // A value of another program may be nested deeper than the SDK writes.
  isRefusal: (error) => isForeign(error) || (error instanceof TypeError && 'code' in error && error.code === 'INVALID_OPTION'),
};

const SECRET = 'hunter2';
const part = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom('a', 'host', 'host:1', '[::1]:2', '', '%40', 'x/y', 'n=v'));

const urls: FuzzTarget = {
  name: 'urls',
  inputs: fc
    .tuple(fc.constantFrom('redis', 'rediss', 'etcd', 'consul', 'sqlite', 'memory'), part, part, part, part)
    .map(([scheme, user, host, namespace, query]) =>
      new TextEncoder().encode(`${scheme}://${user}:${SECRET}@${host}/${namespace}?${query}`),
    ),
  words: [SECRET, '://', '@', ':', '/', '?', '#', '[::1]', 'sqlite:', 'memory:', '%40', 'sqlite:///'],
  read: (input) => {
    const url = new TextDecoder().decode(input);
    const at = url.indexOf(SECRET);
    // A secret that stands once, after the scheme, and before an @ or after a ?. The path of a file
    // may have an @ in it.
    const isSecret =
      !url.startsWith('sqlite:///') &&
      at > url.indexOf('://') &&
      url.includes('://') &&
      at === url.lastIndexOf(SECRET) &&
      (url.indexOf('@', at) >= 0 || url.lastIndexOf('?', at) >= 0);
    if (isSecret) assert.ok(!showUrl(url).includes(SECRET), showUrl(url));
    else showUrl(url);
  },
  isRefusal: () => false,
};

export const targets: readonly FuzzTarget[] = [records, urls, values];
