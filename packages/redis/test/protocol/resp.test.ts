import { MAX_ANSWER_BYTES, MAX_GREETING_BYTES } from '@incumbent/network';
import { retainedBytes } from '@incumbent/test-support';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { encodeRequest, ErrorReply, Reader, type Message } from '../../src/protocol/resp.ts';

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

function readAll(text: string | Uint8Array): readonly Message[] {
  return new Reader().push(Buffer.from(text));
}

function replies(text: string): readonly unknown[] {
  return readAll(text).map(({ reply }) => reply);
}

it('a request is a list of bulk strings, whatever their bytes', () => {
  expect(Buffer.from(encodeRequest(['GET', 'ü', new Uint8Array([0, 13, 10, 255])])).toString('latin1')).toBe(
    `*3\r\n$3\r\nGET\r\n$2\r\n${Buffer.from('ü').toString('latin1')}\r\n$4\r\n\0\r\n\u00ff\r\n`,
  );
});

describe('an answer', () => {
  it.each<[string, unknown]>([
    ['+OK\r\n', 'OK'],
    ['-ERR no\r\n', new ErrorReply('ERR no')],
    ['!6\r\nERR no\r\n', new ErrorReply('ERR no')],
    [':-12\r\n', -12],
    [',1.5\r\n', 1.5],
    ['#t\r\n', true],
    ['#f\r\n', false],
    ['_\r\n', null],
    ['$-1\r\n', null],
    ['*-1\r\n', null],
    ['$4\r\na\r\nb\r\n', bytes('a\r\nb')],
    ['$0\r\n\r\n', bytes('')],
    ['=7\r\ntxt:abc\r\n', bytes('abc')],
    ['*0\r\n', []],
    ['*2\r\n*1\r\n:1\r\n_\r\n', [[1], null]],
    ['~2\r\n:1\r\n:2\r\n', [1, 2]],
    ['%1\r\n+a\r\n*2\r\n:1\r\n:2\r\n', ['a', [1, 2]]],
    ['|1\r\n+ttl\r\n:5\r\n:7\r\n', 7],
  ])('%j is %j', (text, expected) => {
    expect(replies(text)).toEqual([expected]);
  });

  it('that is an error has its first word as its code', () => {
    expect([new ErrorReply('NOSCRIPT No matching script').code, new ErrorReply('LOADING').code]).toEqual(['NOSCRIPT', 'LOADING']);
  });

  it('may be a push message', () => {
    expect(readAll('>2\r\n+a\r\n:1\r\n+b\r\n')).toEqual([
      { isPush: true, reply: ['a', 1] },
      { isPush: false, reply: 'b' },
    ]);
  });

  it('is the same, whatever the chunks', () => {
    const text = '*3\r\n$5\r\nh\r\nlo\r\n>1\r\n+x\r\n'.replace('>1\r\n+x\r\n', '%1\r\n+k\r\n$-1\r\n:9\r\n');
    const whole = `${text}>2\r\n+message\r\n$2000\r\n${'v'.repeat(2_000)}\r\n+end\r\n`.repeat(20);
    const expected = readAll(whole);
    expect(expected).toHaveLength(60);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1 }), (sizes) => {
        const reader = new Reader();
        const seen: Message[] = [];
        const all = Buffer.from(whole);
        for (let at = 0, i = 0; at < all.length; i += 1) {
          const size = sizes[i % sizes.length] ?? 1;
          seen.push(...reader.push(all.subarray(at, at + size)));
          at += size;
        }
        expect(seen).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  it.each(['HTTP/1.1 400 Bad Request\r\n', '\x15\x03\x01', '$x\r\n', '*99999999\r\n', `+${'a'.repeat(70_000)}`, '$600000000\r\n'])(
    'cannot begin with %j',
    (text) => {
      expect(() => readAll(text)).toThrow(TypeError);
    },
  );

  it.each([
    ['a string that is longer than announced', '$3\r\nabcde+OK\r\n'],
    ['a number of letters', ':ten\r\n'],
    ['a number without digits', ':\r\n'],
    ['a length below -1', '$-2\r\n'],
    ['a length with an exponent', '*1e3\r\n'],
    ['too many items', '*99999999999\r\n'],
    ['nested lists without an end', `${'*1\r\n'.repeat(200_000)}:1\r\n`],
  ])('cannot be %s', (_, text) => {
    expect(() => readAll(text)).toThrow(TypeError);
  });
});

describe('an answer without an end is refused', () => {
  /** How many bytes the reader accepts before it refuses. */
  function taken(begin: string, forever: string, isGreeted: boolean): number {
    const reader = new Reader();
    if (isGreeted) reader.allowLongAnswers();
    const chunk = Buffer.from(forever.repeat(Math.ceil(65_536 / forever.length)));
    let count = 0;
    try {
      reader.push(Buffer.from(begin));
      for (; count < 64 * 2 ** 20; count += chunk.length) reader.push(chunk);
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError);
    }
    return count;
  }

  it.each([
    ['a long string', '$17000000\r\n', 'a'],
    ['a list of short strings', '*130000\r\n', `$20\r\n${'a'.repeat(20)}\r\n`],
    ['a list of long texts', '*100000\r\n', `+${'a'.repeat(60_000)}\r\n`],
    ['lists within a list', '*100000\r\n', '*1\r\n:1\r\n'],
    ['attributes before an answer', '', '|1\r\n+a\r\n:1\r\n'],
    ['a line', '+', 'a'],
    ['a push message', '>130000\r\n', `$20\r\n${'a'.repeat(20)}\r\n`],
  ])('%s', (_, begin, forever) => {
    expect(taken(begin, forever, false)).toBeLessThanOrEqual(MAX_GREETING_BYTES + 65_536);
    expect(taken(begin, forever, true)).toBeLessThanOrEqual(MAX_ANSWER_BYTES + 65_536);
  });

  it.each(['$20000000\r\n', '*200000\r\n', '%200000\r\n'])('as soon as it is announced: %j', (announced) => {
    const reader = new Reader();
    reader.allowLongAnswers();
    expect(() => reader.push(Buffer.from(announced))).toThrow(TypeError);
  });

  it('but many complete ones are not', () => {
    const reader = new Reader();
    reader.allowLongAnswers();
    const answer = Buffer.from(`$1000000\r\n${'a'.repeat(1_000_000)}\r\n`);
    for (let count = 0; count < 30; count += 1) expect(reader.push(answer)).toHaveLength(1);
  });
});

describe('a long string takes no more memory than its bytes', () => {
  const LENGTH = 16 * 2 ** 20;
  const SLACK = 2 ** 20;

  function readerOf(chunk: Uint8Array, chunks: number): Reader {
    const reader = new Reader();
    reader.allowLongAnswers();
    reader.push(Buffer.from(`$${LENGTH}\r\n`));
    for (let count = 0; count < chunks; count += 1) expect(reader.push(chunk)).toEqual([]);
    return reader;
  }

  it('while it arrives', () => {
    const chunk = Buffer.alloc(65_536, 'a');
    expect(retainedBytes(() => readerOf(chunk, LENGTH / chunk.length))).toBeLessThan(LENGTH + SLACK);
  });

  it('while it arrives byte by byte', () => {
    const chunk = Buffer.from('a');
    expect(retainedBytes(() => readerOf(chunk, 500_000))).toBeLessThan(LENGTH + SLACK);
  });

  it('when it is complete', () => {
    const chunk = Buffer.alloc(65_536, 'a');
    const whole = (): unknown => {
      const reader = readerOf(chunk, LENGTH / chunk.length);
      return { reader, messages: reader.push(Buffer.from('\r\n')) };
    };
    expect(retainedBytes(whole)).toBeLessThan(LENGTH + SLACK);
  });
});
