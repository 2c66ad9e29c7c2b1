/** Literals, and what is read from rows. */

import { describe, expect, it } from 'vitest';

import { entryAt, integerAt, maybeIntegerAt, onlyRow } from '../src/client/rows.ts';
import { array, boolean, bytes, callOf, integer, NULL, text } from '../src/client/statement.ts';
import { entriesIn, readArgs } from '../src/reads.ts';
import { swapArgs, swapResult } from '../src/transactions.ts';

describe('a literal', () => {
  it('contains only characters that no setting of the server interprets', () => {
    for (const hostile of ["'; DROP TABLE x; --", '\\', 'ä', '$$', '\n', '"', "E'\\x"])
      expect(text(hostile).sql).toMatch(/^convert_from\(decode\('[A-Za-z0-9+/=]*', 'base64'\), 'UTF8'\)$/);
    expect(text('elections/a-b_c.d~e/leader').sql).toBe("'elections/a-b_c.d~e/leader'");
    expect(bytes(new Uint8Array([0, 255, 39])).sql).toBe("decode('AP8n', 'base64')");
  });

  it('may be a part of a larger buffer', () => {
    expect(bytes(new Uint8Array([9, 1, 2, 9]).subarray(1, 3)).sql).toBe("decode('AQI=', 'base64')");
  });

  it('may be a number, a boolean, null or an array', () => {
    expect(callOf('s', 'f', [integer(-1n), boolean(true), NULL, array('text', [text('a'), NULL])])).toBe(
      `SELECT * FROM "s".f(-1, true, NULL, ARRAY['a',NULL]::text[])`,
    );
  });
});

describe('the arguments of a swap', () => {
  it('say of each change what it expects, does and binds', () => {
    const lease = 'a'.repeat(24);
    const changes = [
      { key: 'a', expect: null, put: new Uint8Array([1]), lease },
      { key: 'b', expect: '12', put: new Uint8Array(), lease: null },
      { key: 'c', expect: '13', delete: true as const },
      { key: 'd', expect: 'not a revision' },
      { key: 'e', expect: '14', put: new Uint8Array(), lease: "x'y" },
    ];
    expect(swapArgs(changes).map(({ sql }) => sql)).toEqual([
      "ARRAY['a','b','c','d','e']::text[]",
      'ARRAY[NULL,12,13,-1,14]::bigint[]',
      "ARRAY['p','p','d','c','p']::text[]",
      "ARRAY[decode('AQ==', 'base64'),decode('', 'base64'),NULL,NULL,decode('', 'base64')]::bytea[]",
      `ARRAY['l${lease}','n','n','n','l']::text[]`,
    ]);
  });
});

describe('the answer of a swap', () => {
  it('has the new revisions, or what is there in place of what was expected', () => {
    const done = [
      ['done', '1', null, null, '7', null, null],
      ['done', '2', null, null, null, null, null],
    ];
    expect(swapResult(done, 2)).toEqual({ swapped: true, revisions: ['7', undefined] });
    const failed = [
      ['failed', '1', null, null, null, null, null],
      ['failed', '3', 'q/a', 'AQ==', '8', '6', 'l1'],
    ];
    expect(swapResult(failed, 3)).toEqual({
      swapped: false,
      failed: [
        { index: 0, current: undefined },
        { index: 2, current: { key: 'q/a', name: 'a', value: new Uint8Array([1]), revision: '8', order: 6n, lease: 'l1' } },
      ],
    });
  });

  it('says which lease has ended', () => {
    expect(() => swapResult([['lease', '1', null, null, null, null, 'l1']], 1)).toThrow(
      expect.objectContaining({ code: 'LEASE_EXPIRED', outcome: 'refused' }),
    );
  });

  it.each([
    ['none', []],
    ['of another kind', [['what', '1', null, null, null, null, null]]],
    ['for fewer changes', [['done', '1', null, null, null, null, null]]],
    ['for more changes', Array.from({ length: 3 }, () => ['done', '1', null, null, null, null, null])],
  ])('that is %s cannot be read', (_, rows) => {
    expect(() => swapResult(rows, 2)).toThrow('cannot be read');
  });
});

describe('rows', () => {
  it('of entries may be damaged', () => {
    const good = ['k', 'AQ==', '2', '1', null];
    expect(entryAt(good, 0)).toEqual({ key: 'k', name: 'k', value: new Uint8Array([1]), revision: '2', order: 1n });
    for (const damaged of [good.with(0, null), good.with(1, null), good.with(2, null), good.with(3, 'x'), []])
      expect(() => entryAt(damaged, 0)).toThrow('cannot be read');
  });

  it('of numbers may be damaged', () => {
    expect(maybeIntegerAt([null], 0)).toBeUndefined();
    for (const damaged of ['', 'x', '1.5', '99999999999999999999'].filter((value) => value !== ''))
      expect(() => integerAt([damaged], 0)).toThrow('cannot be read');
    expect(() => onlyRow([])).toThrow('cannot be read');
    expect(() => onlyRow([[], []])).toThrow('cannot be read');
  });

  it('of a read belong to one of its queries', () => {
    const rows = [
      ['2', 'q/a', 'AQ==', '2', '1', null],
      ['2', 'q/b', '', '3', '2', null],
    ];
    expect(entriesIn(rows, 3).map((entries) => entries.map(({ name }) => name))).toEqual([[], ['a', 'b'], []]);
    expect(() => entriesIn(rows, 1)).toThrow('cannot be read');
  });
});

it('the arguments of a read have one element for each query', () => {
  const before = { key: 'q/a', name: 'a', value: new Uint8Array(), revision: '1', order: 5n };
  const args = readArgs([{ key: 'a' }, { prefix: 'q', before, last: 2 }, { prefix: 'q', first: 3, values: false }]);
  expect(args.map(({ sql }) => sql)).toEqual([
    "ARRAY['k','l','l']::text[]",
    "ARRAY['a','q','q']::text[]",
    'ARRAY[NULL,5,NULL]::bigint[]',
    'ARRAY[NULL,-2,3]::bigint[]',
    'ARRAY[true,true,false]::boolean[]',
  ]);
});
