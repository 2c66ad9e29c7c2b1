/** Fuzz targets of the code that reads an agent's responses: JSON, and the pairs in it. */

import assert from 'node:assert/strict';

import { mayRefuse, type FuzzTarget } from '@incumbent/test-support/fuzz';
import fc from 'fast-check';

import { fields, index, items, parse, text } from '../../src/protocol/json.ts';
import { pairOf } from '../../src/protocol/kv.ts';
import { ExchangeError } from '../../src/client/failure.ts';
import { Namespace, readRevision, revisionOf } from '../../src/namespace.ts';

const isMalformed = (error: unknown): boolean => error instanceof ExchangeError && error.failure.kind === 'malformed';

const SESSION = '01234567-89ab-cdef-0123-456789abcdef';
const pair = fc.record(
  {
    Key: fc.constantFrom('ns/a', 'ns/elections/e/leader', 'ns/folder/', 'ns/=/b,c', 'x'),
    Value: fc.oneof(fc.base64String(), fc.constant(null)),
    CreateIndex: fc.nat(),
    ModifyIndex: fc.nat(),
    LockIndex: fc.nat(5),
    Flags: fc.nat(),
    Session: fc.constant(SESSION),
  },
  { requiredKeys: ['Key', 'CreateIndex', 'ModifyIndex'] },
);
const response = fc.oneof(
  fc.array(pair, { maxLength: 3 }),
  fc.record({
    Results: fc.array(
      pair.map((KV) => ({ KV })),
      { maxLength: 3 },
    ),
    Errors: fc.constant(null),
  }),
  fc.record({ Results: fc.constant(null), Errors: fc.array(fc.record({ OpIndex: fc.nat(64), What: fc.string() }), { maxLength: 2 }) }),
  fc.record({ ID: fc.constant(SESSION) }),
  fc.record({ Config: fc.record({ Version: fc.constant('1.8.7') }) }),
);

const namespace = new Namespace('ns');

/** All ways in which the adapter reads a response. */
const uses: readonly ((value: unknown) => void)[] = [
  (value) => {
    const pairs = items(value).map(pairOf);
    for (const one of pairs) {
      // Consul has no such index and no such session id.
      if (one.modified === 0 || one.modified > 1e15 || !['', SESSION].includes(one.session)) continue;
      const lease = one.session === '' ? undefined : one.session;
      assert.deepEqual(readRevision(revisionOf(one)), { index: one.modified, lease });
    }
    namespace.entries(pairs);
  },
  (value) => void items(fields(value).get('Results')).map((item) => pairOf(fields(item).get('KV'))),
  (value) => void items(fields(value).get('Errors')).map((item) => [index(fields(item), 'OpIndex'), text(fields(item), 'What')]),
  (value) => void text(fields(value), 'ID'),
  (value) => void text(fields(fields(value).get('Config')), 'Version'),
];

const json: FuzzTarget = {
  name: 'json',
  inputs: response.map((value) => new TextEncoder().encode(JSON.stringify(value))),
  words: ['null', '[]', '{}', '"Key":', '"Value":', '"CreateIndex":', '"Session":', '"Results":', '[[[[', '1e999', '__proto__', '"=/,"'],
  read: (input) => {
    const value = parse(new TextDecoder().decode(input));
    for (const use of uses) mayRefuse(isMalformed, () => use(value));
  },
  isRefusal: isMalformed,
};

export const targets: readonly FuzzTarget[] = [json];
