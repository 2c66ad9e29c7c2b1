/** Keys as text in the fields of an object. */

import { describe, expect, it } from 'vitest';

import { dataName, KeysReader, MAX_DATA_NAME, writeCount, writeEntry } from '../src/keys/codec.ts';

function entry(value: string, modified: number): string {
  return writeEntry({ value: new TextEncoder().encode(value), created: 1, modified, lease: 'lease-1' });
}

const name = dataName('elections/cron~1/leader_2');

describe('a reader of the states of an object', () => {
  it('reads each key, and skips names that no key has', () => {
    const data = { [name]: entry('v', 3), a_b: entry('v', 9), ...writeCount('e', 4) };
    const { epoch, count, entries } = new KeysReader().read(data);
    expect([epoch, count, [...entries.keys()]]).toEqual(['e', 4, ['elections/cron~1/leader_2']]);
    expect(entries.get('elections/cron~1/leader_2')).toEqual({
      value: new TextEncoder().encode('v'),
      created: 1,
      modified: 3,
      lease: 'lease-1',
    });
  });

  it('takes the last change from the entries if the counter is behind them', () => {
    expect(new KeysReader().read({ [name]: entry('v', 30), ...writeCount('e', 4) }).count).toBe(30);
  });

  it('decodes only the fields that have changed since the state before', () => {
    const reader = new KeysReader();
    const states = [
      { a: entry('1', 1), b: entry('1', 1), c: entry('1', 1) },
      { a: entry('1', 1), b: entry('2', 2), d: entry('1', 3) },
      { a: entry('1', 1), b: entry('1', 1), c: entry('1', 1) },
    ].map((data) => reader.read(data).entries);
    const [first, second, third] = states;
    expect(states.map((entries) => [...entries.keys()])).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'd'],
      ['a', 'b', 'c'],
    ]);
    expect(second?.get('a')).toBe(first?.get('a'));
    expect(third?.get('a')).toBe(first?.get('a'));
    expect([first, second, third].map((entries) => entries?.get('b')?.modified)).toEqual([1, 2, 1]);
  });
});

describe('the name of a key in the data of an object', () => {
  it('is one that a ConfigMap allows, and reads as the key', () => {
    for (const key of ['.', '..', '...', '..a', './a', '../a', '.a', 'a/..', 'd', '_d', '_d.a', '.~']) {
      const written = dataName(key);
      // As the API server checks it: `IsConfigMapKey`.
      expect(written).toMatch(/^(?!\.$|\.\.)[-._a-zA-Z0-9]+$/);
      expect([...new KeysReader().read({ [written]: entry('v', 1) }).entries.keys()]).toEqual([key]);
    }
  });

  // The README has these bounds.
  it.each([
    ['fifo~', 190],
    ['priority~-1000000', 178],
    ['rendezvous~01234567', 176],
    [`version-newest~${'1'.repeat(64)}`, 116],
  ])('fits for a candidate under %s if the names of the election and the member have %i characters together', (order, characters) => {
    const keyOf = (length: number): string =>
      `elections/${'e'.repeat(length - 64)}/candidates/${'m'.repeat(64)}~${'i'.repeat(10)}~${Number.MAX_SAFE_INTEGER}~${order}`;
    expect(dataName(keyOf(characters))).toHaveLength(MAX_DATA_NAME);
  });
});
