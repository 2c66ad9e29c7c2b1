import { describe, expect, it } from 'vitest';

import { ListReader } from '../src/client/body.ts';

/** The items of a list that arrives in two chunks, cut at `at`. */
function itemsOf(json: string, at = 0): readonly unknown[] {
  const items: unknown[] = [];
  const reader = new ListReader((item) => items.push(JSON.parse(new TextDecoder().decode(item))));
  const bytes = Buffer.from(json);
  reader.push(bytes.subarray(0, at));
  reader.push(bytes.subarray(at));
  reader.end();
  return items;
}

describe('a list', () => {
  const items = [{}, { Key: 'ü"\\' }, { a: [1, { b: ']}' }], c: null }, { Key: '\\"{[' }];

  it('is read as JSON.parse reads it, wherever its bytes are cut', () => {
    const json = ` ${JSON.stringify(items, undefined, 1)}\n`;
    for (let at = 0; at <= Buffer.byteLength(json); at += 1) expect(itemsOf(json, at)).toEqual(items);
  });

  it('may be empty', () => {
    expect(itemsOf('[]')).toEqual([]);
  });

  it.each(['', 'null', '{}', '[', '[{}', '[{}]]', '[{}][', '[1]', '["a"]', '[[]]', 'hello'])('is not "%s"', (json) => {
    expect(() => itemsOf(json)).toThrow(/a list(?: of objects)? was expected/);
  });

  it('has items of at most 64 values', () => {
    const withValues = (count: number): string => `[{"a":[${Array.from({ length: count }, () => '1').join(',')}]}]`;
    expect(itemsOf(withValues(64))).toHaveLength(1);
    expect(() => itemsOf(withValues(65))).toThrow('more than 64 values');
  });
});
