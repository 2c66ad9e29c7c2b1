import { describe, expect, it } from 'vitest';

import { parse } from '../src/protocol/json.ts';

describe('a response', () => {
  it.each([
    ['empty lists', `[${'[],'.repeat(2_000_000)}[]]`],
    ['numbers', `[${'1,'.repeat(4_000_000)}1]`],
    ['lists within lists', '['.repeat(8_000_000)],
  ])('of millions of values is refused before it is parsed: %s', (_, text) => {
    expect(() => parse(text)).toThrow(/it has more than \d+ values/);
  });

  it('with a long value is parsed', () => {
    const value = 'a,[{'.repeat(20_000);
    expect(parse(JSON.stringify({ value }))).toEqual({ value });
  });
});
