import { describe, expect, it } from 'vitest';

import { parse } from '../src/protocol/json.ts';

describe('an answer', () => {
  it.each([
    ['empty lists', `[${'[],'.repeat(2_000_000)}[]]`],
    ['numbers', `[${'1,'.repeat(4_000_000)}1]`],
    ['lists within lists', '['.repeat(8_000_000)],
  ])('of millions of parts is refused before it is parsed: %s', (_, text) => {
    expect(() => parse(text)).toThrow(/more parts than any answer/);
  });

  it('with a long value is not', () => {
    const value = 'a,[{'.repeat(20_000);
    expect(parse(JSON.stringify({ value }))).toEqual({ value });
  });
});
