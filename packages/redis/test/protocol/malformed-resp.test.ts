import { describe, expect, it } from 'vitest';

import { Reader } from '../../src/protocol/resp.ts';

const read = (text: string): unknown => new Reader().push(Buffer.from(text));

describe('what no server says', () => {
  it.each([
    ['a string that is longer than it says', '$3\r\nabcde+OK\r\n'],
    ['a number that is none', ':ten\r\n'],
    ['a number without digits', ':\r\n'],
    ['a length below -1', '$-2\r\n'],
    ['a length of no number', '*1e3\r\n'],
    ['more items than there are', '*99999999999\r\n'],
    ['lists in lists without an end', `${'*1\r\n'.repeat(200_000)}:1\r\n`],
  ])('%s is not read', (_, text) => {
    expect(() => read(text)).toThrow(TypeError);
  });
});
