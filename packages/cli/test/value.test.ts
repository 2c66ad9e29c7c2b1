import { describe, expect, it } from 'vitest';

import { parseValue } from '../src/common/json.ts';

describe('the value of --value', () => {
  it.each([
    ['{"port":80}', { port: 80 }],
    ['[1, 2]', [1, 2]],
    ['"text"', 'text'],
    ['true', true],
    ['null', null],
    ['web-1', 'web-1'],
    ['', ''],
  ])('is JSON if it can be, and otherwise text: %j', (text, value) => {
    expect(parseValue(text)).toEqual(value);
  });

  it.each([
    ['0', 0],
    ['-1.5', -1.5],
    [' 8080\n', 8080],
    ['1e+21', 1e21],
    ['12345678901234567890', '12345678901234567890'],
    ['12e4567', '12e4567'],
    ['1.10', '1.10'],
    ['1e3', '1e3'],
    ['-0', '-0'],
  ])('is a number only if the number is written like this: %j', (text, value) => {
    expect(parseValue(text)).toBe(value);
  });

  it.each(['{"port":', '[1', '"text'])('is refused if it begins like JSON and is not: %j', (text) => {
    expect(() => parseValue(text)).toThrow('--value begins like JSON but is not valid JSON');
  });
});
