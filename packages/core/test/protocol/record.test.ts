import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isIncumbentError } from '../../src/index.ts';
import {
  readCandidate,
  readGroup,
  readLeader,
  readMember,
  readTerm,
  writeCandidate,
  writeGroup,
  writeLeader,
  writeMember,
  writeRequest,
  writeStepDown,
  writeTerm,
  type Payload,
} from '../../src/protocol/record.ts';
import { readElected, writeElected, writeHandoverTerm } from '../../src/protocol/mark.ts';
import { entryOf } from '../support/entries.ts';
import { check } from '../support/property.ts';

const text = fc.string({ unit: 'binary' });
const term = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n });
/** As values come out of JSON. */
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const payload: fc.Arbitrary<Payload> = fc.oneof(fc.constant(undefined), fc.record({ json }), fc.record({ bytes: fc.base64String() }));
const identity = { memberId: text, incarnation: text };
const word = fc.stringMatching(/^[A-Za-z0-9_-]{1,128}$/);
const previous = fc.record({ term, memberId: word, reason: word });
const optional = {
  previous: fc.option(previous, { nil: undefined }),
  publication: fc.option(fc.integer({ min: 1 }), { nil: undefined }),
};
const readers = { readLeader, readTerm, readCandidate, readMember, readGroup };

describe('what is written is read again', () => {
  it('as a leader', () => {
    check(
      fc.property(fc.record({ term, ...identity, entry: text, payload, ...optional }), (record) => {
        expect(readLeader(entryOf('k', writeLeader(record)))).toEqual(record);
      }),
    );
  });

  it('as a term, with or without its end', () => {
    const ended = fc.oneof(fc.record({ reason: text }), fc.record({ reason: text, successor: text }));
    check(
      fc.property(fc.record({ term, ...identity, entry: text }), fc.option(ended, { nil: undefined }), (record, end) => {
        const full = end === undefined ? record : { ...record, ended: end };
        const { raw: _, ...read } = readTerm(entryOf('k', writeTerm(full, undefined)));
        expect(read).toEqual(full);
      }),
    );
  });

  it('as a candidate', () => {
    check(
      fc.property(payload, fc.oneof(fc.constant(0n), term), fc.oneof(fc.constant(0n), term), (value, termFloor, seenTerm) => {
        const { raw: _, ...read } = readCandidate(entryOf('k', writeCandidate(value, termFloor, seenTerm)));
        expect(read).toEqual({ payload: value, termFloor, seenTerm });
      }),
    );
  });

  it('as a member and as one of a group', () => {
    const member = fc.record({ incarnation: text, ttlMs: fc.double({ min: 1, max: 86_400_000, noNaN: true }) });
    check(
      fc.property(member, (record) => {
        expect(readMember(entryOf('k', writeMember(record)))).toEqual(record);
      }),
    );
    check(
      fc.property(fc.record({ ...identity, payload }), (record) => {
        expect(readGroup(entryOf('k', writeGroup(record)))).toEqual(record);
      }),
    );
  });
});

describe('a record that is written again', () => {
  it('keeps the fields of the term that this version does not know, and not its end', () => {
    const before = readTerm(
      entryOf('k', { v: 1, term: '4', memberId: 'a', incarnation: 'i', entry: 'e', future: { x: [1] }, ended: { reason: 'resigned' } }),
    );
    const after = readTerm(entryOf('k', writeTerm({ term: 5n, memberId: 'b', incarnation: 'j', entry: 'f' }, before)));
    expect(after).toEqual({
      term: 5n,
      memberId: 'b',
      incarnation: 'j',
      entry: 'f',
      raw: expect.objectContaining({ future: { x: [1] }, v: 1 }),
    });
    expect(after.raw).not.toHaveProperty('ended');
  });

  it('keeps what a candidate would publish, and whatever else it said, when a handover names it', () => {
    check(
      fc.property(payload, term, (value, handoverTerm) => {
        const entry = entryOf('k', writeCandidate(value, 0n, 0n));
        const named = readCandidate(entryOf('k', writeHandoverTerm(entry, handoverTerm)));
        expect([named.payload, named.handoverTerm]).toEqual([value, handoverTerm]);
      }),
    );
    const future = readCandidate(entryOf('k', writeHandoverTerm(entryOf('k', { v: 1, future: true }), 3n)));
    expect(future.raw).toEqual({ v: 1, future: true, handoverTerm: '3' });
  });

  it('has the field names that other versions read', () => {
    const parsed = (bytes: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(bytes));
    const holder = { term: 4n, memberId: 'a', incarnation: 'i', entry: 'e', nobodyAhead: true };
    const ended = { reason: 'handover', successor: 'f', nobodyAhead: true };
    const stored = { v: 1, term: '4', memberId: 'a', incarnation: 'i', entry: 'e', first: 'e' };
    expect(parsed(writeTerm({ ...holder, ended }, undefined))).toEqual({
      ...stored,
      ended: { reason: 'handover', successor: 'f', first: true },
    });
    expect(parsed(writeTerm({ ...holder, ended: { reason: 'resigned' } }, undefined))).toEqual({
      ...stored,
      ended: { reason: 'resigned' },
    });
    expect(readTerm(entryOf('k', { ...stored, ended: { reason: 'handover', successor: 'f' } })).ended).toEqual({
      reason: 'handover',
      successor: 'f',
    });
    const { nobodyAhead: _, ...leader } = holder;
    const before = { term: 3n, memberId: 'b', reason: 'handover' };
    expect(parsed(writeLeader({ ...leader, payload: { json: 7 }, previous: before, publication: 2 }))).toEqual({
      ...{ v: 1, term: '4', memberId: 'a', incarnation: 'i', entry: 'e', value: 7 },
      previous: { term: '3', memberId: 'b', reason: 'handover' },
      publication: 2,
    });
    expect(parsed(writeLeader({ ...leader, payload: undefined }))).toEqual({
      v: 1,
      term: '4',
      memberId: 'a',
      incarnation: 'i',
      entry: 'e',
    });
    expect(parsed(writeStepDown(entryOf('k', { v: 1, value: 7 })))).toEqual({ v: 1, value: 7, stepDown: true });
    expect(parsed(writeHandoverTerm(entryOf('k', { v: 1 }), 3n))).toEqual({ v: 1, handoverTerm: '3' });
    expect(readCandidate(entryOf('k', { v: 1, handoverTerm: '3' })).handoverTerm).toBe(3n);
    const end = { term: 2n, memberId: 'a', reason: 'handover' };
    expect(parsed(writeElected(entryOf('k', { v: 1 }), 3n, end))).toEqual({
      v: 1,
      handoverTerm: '3',
      elected: { term: '3', previous: { term: '2', memberId: 'a', reason: 'handover' } },
    });
  });
});

describe('the mark of a handover in one swap', () => {
  const end = { term: 2n, memberId: 'a', reason: 'handover' };
  const entry = entryOf('k', writeElected(entryOf('k', writeCandidate({ json: 7 }, 0n, 0n)), 3n, end));
  const markOf = (value: Uint8Array | object): unknown => readElected(readCandidate(entryOf('k', value)));

  it('says which term began, and how the one before ended', () => {
    expect(readElected(readCandidate(entry))).toEqual({ term: 3n, previous: end });
    expect(markOf(writeElected(entry, 4n, undefined))).toEqual({ term: 4n, previous: undefined });
    expect(readCandidate(entry)).toMatchObject({ handoverTerm: 3n, payload: { json: 7 } });
  });

  it('is no longer there once an operator has changed the entry, or a handover in two steps has marked it', () => {
    for (const value of [writeRequest(entry, 'b'), writeRequest(entry, undefined), writeStepDown(entry), writeHandoverTerm(entry, 3n)]) {
      expect(readCandidate(entryOf('k', value)).raw).not.toHaveProperty('elected');
      expect(markOf(value)).toBeUndefined();
    }
  });

  it('does not count where an older version has changed the entry, and kept the field', () => {
    const { raw } = readCandidate(entry);
    for (const change of [{ handoverTerm: '4' }, { handTo: 'b' }, { stepDown: true }])
      expect(markOf({ ...raw, ...change })).toBeUndefined();
  });

  it.each([null, 'x', [], {}, { term: 3 }, { term: '0' }, { term: '4' }])('does not count if it is malformed: %j', (elected) => {
    expect(markOf({ v: 1, handoverTerm: '3', elected })).toBeUndefined();
  });
});

describe('a record of another version', () => {
  it.each(Object.entries(readers))('is refused when it is newer, and the key is named: %s', (_, read) => {
    expect(() => read(entryOf('some/key', { v: 2 }))).toThrow(
      expect.objectContaining({
        code: 'NEWER_FORMAT',
        details: { key: 'some/key', format: 2 },
        message: expect.stringContaining('some/key'),
      }),
    );
  });

  it('of the same major version is read, unknown fields and all', () => {
    const record = { v: 1, term: '7', memberId: 'a', incarnation: 'i', entry: 'e', value: 1, future: true };
    expect(readLeader(entryOf('k', record))).toEqual({ term: 7n, memberId: 'a', incarnation: 'i', entry: 'e', payload: { json: 1 } });
    expect(readTerm(entryOf('k', { ...record, ended: { reason: 'stoppedByFuture', more: 1 } })).ended).toEqual({
      reason: 'stoppedByFuture',
    });
  });
});

it('a malformed number of a publication is ignored', () => {
  const record = { v: 1, term: '7', memberId: 'a', incarnation: 'i', entry: 'e' };
  for (const publication of [0, -1, 1.5, 2 ** 53, '1', null])
    expect(readLeader(entryOf('k', { ...record, publication }))).not.toHaveProperty('publication');
});

describe('what is no record', () => {
  it('is foreign data or of a newer format, whatever the bytes, and nothing else ever', () => {
    const bytes = fc.oneof(
      fc.uint8Array(),
      fc.string({ unit: 'binary' }).map((value) => new TextEncoder().encode(value)),
      fc.json().map((value) => new TextEncoder().encode(value)),
    );
    check(
      fc.property(bytes, (value) => {
        for (const read of Object.values(readers)) expectRefusalOrRecord(() => read(entryOf('some/key', value)));
      }),
      { numRuns: 500 },
    );
  });

  it('is so even when it looks much like one', () => {
    const field = fc.oneof(json, fc.constantFrom('', '0', '-1', '1', '01', '1.5', '9'.repeat(40), '7', 'ä'));
    const almost = fc.record(
      {
        v: fc.oneof(fc.constant(1), json),
        term: field,
        memberId: field,
        incarnation: field,
        entry: field,
        ended: field,
        handoverTerm: field,
        ttlMs: field,
        bytes: field,
      },
      { requiredKeys: [] },
    );
    check(
      fc.property(almost, (record) => {
        for (const read of Object.values(readers)) expectRefusalOrRecord(() => read(entryOf('some/key', record)));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(['0', '-1', '01', '1.5', '1e3', ' 1', '', 'x', '9'.repeat(40), `${2n ** 63n}`, 7, null])('a term of %j is none', (value) => {
    const record = { v: 1, term: value, memberId: 'a', incarnation: 'i', entry: 'e' };
    for (const read of [readLeader, readTerm])
      expect(() => read(entryOf('k', record))).toThrow(expect.objectContaining({ code: 'FOREIGN_DATA' }));
  });

  it.each([0, -1, '5', null, undefined])('a ttl of %j is none', (ttlMs) => {
    expect(() => readMember(entryOf('k', { v: 1, incarnation: 'i', ttlMs }))).toThrow(expect.objectContaining({ code: 'FOREIGN_DATA' }));
  });

  it('may be a record but for a byte that is no text', () => {
    const bytes = new TextEncoder().encode('{"v":1,"memberId":"a?","incarnation":"i"}').map((byte) => (byte === 0x3f ? 0xff : byte));
    expect(() => readGroup(entryOf('k', bytes))).toThrow(expect.objectContaining({ code: 'FOREIGN_DATA' }));
  });

  it.each([
    ['lists', `${'['.repeat(200_000)}${']'.repeat(200_000)}`],
    ['objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
  ])('may be too deep to be written again: %s', (_, deep) => {
    const fields = '"v":1,"term":"1","memberId":"a","incarnation":"i","entry":"e","ttlMs":5';
    for (const read of Object.values(readers))
      for (const name of ['value', 'future']) expectRefusal(() => read(entryOf('some/key', `{${fields},"${name}":${deep}}`)));
  });

  it('may have a ttl beyond all numbers', () => {
    expectRefusal(() => readMember(entryOf('some/key', '{"v":1,"incarnation":"i","ttlMs":1e999}')));
  });

  it('pollutes no prototype', () => {
    const hostile = '{"v":1,"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
    const named = writeHandoverTerm(entryOf('k', hostile), 1n);
    expect(new TextDecoder().decode(named)).toContain('"__proto__":{"polluted":1}');
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });
});

function expectRefusal(read: () => object): void {
  expect(read).toThrow(expect.objectContaining({ code: 'FOREIGN_DATA', details: { key: 'some/key' } }));
}

function expectRefusalOrRecord(read: () => object): void {
  try {
    expect(read()).toBeTypeOf('object');
  } catch (error) {
    expect(isIncumbentError(error, 'FOREIGN_DATA', 'NEWER_FORMAT'), String(error)).toBe(true);
    expect(error).toMatchObject({ details: { key: 'some/key' } });
  }
}
