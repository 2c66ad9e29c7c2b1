import { AnswersTooLarge, MAX_ANSWER_BYTES, MAX_GREETING_BYTES, SharedAllowance } from '@incumbent/network';
import { retainedBytes } from '@incumbent/test-support';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Reader } from '../../src/protocol/reader.ts';
import { encodeRequest, ErrorReply, type Reply } from '../../src/protocol/resp.ts';
import { collecting, type PlainMessage } from './plain.ts';

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

function readAll(text: string | Uint8Array): readonly PlainMessage[] {
  const { reader, messages } = collecting();
  reader.push(Buffer.from(text));
  return messages;
}

const lengthOf = (reply: Reply): number | undefined => (reply instanceof Uint8Array ? reply.length : undefined);

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
        const { reader, messages } = collecting();
        const all = Buffer.from(whole);
        for (let at = 0, i = 0; at < all.length; i += 1) {
          const size = sizes[i % sizes.length] ?? 1;
          reader.push(all.subarray(at, at + size));
          at += size;
        }
        expect(messages).toEqual(expected);
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
    ['a list with a push message', '*1\r\n>1\r\n:1\r\n'],
    ['nested lists without an end', `${'*1\r\n'.repeat(200_000)}:1\r\n`],
  ])('cannot be %s', (_, text) => {
    expect(() => readAll(text)).toThrow(TypeError);
  });
});

describe('an answer without an end is refused', () => {
  /** How many bytes the reader accepts before it refuses. */
  function taken(begin: string, forever: string, isGreeted: boolean): number {
    const reader = new Reader(() => {});
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
    ['a list of strings with long headers', '*100000\r\n', `$${'0'.repeat(60_000)}1\r\na\r\n`],
    ['a line', '+', 'a'],
    ['a push message', '>130000\r\n', `$20\r\n${'a'.repeat(20)}\r\n`],
  ])('%s', (_, begin, forever) => {
    expect(taken(begin, forever, false)).toBeLessThanOrEqual(MAX_GREETING_BYTES + 65_536);
    expect(taken(begin, forever, true)).toBeLessThanOrEqual(MAX_ANSWER_BYTES + 65_536);
  });

  it.each(['$20000000\r\n', '*200000\r\n', '%200000\r\n'])('as soon as it is announced: %j', (announced) => {
    const reader = new Reader(() => {});
    reader.allowLongAnswers();
    expect(() => reader.push(Buffer.from(announced))).toThrow(TypeError);
  });

  it('but many complete ones are not', () => {
    const { reader, messages } = collecting();
    reader.allowLongAnswers();
    const answer = Buffer.from(`$1000000\r\n${'a'.repeat(1_000_000)}\r\n`);
    for (let count = 0; count < 30; count += 1) reader.push(answer);
    expect(messages).toHaveLength(30);
  });
});

describe('a long string takes no more memory than its bytes', () => {
  const LENGTH = 16 * 2 ** 20;
  const SLACK = 2 ** 20;

  function readerOf(chunk: Uint8Array, chunks: number): Reader {
    const reader = new Reader(() => {});
    reader.allowLongAnswers();
    reader.push(Buffer.from(`$${LENGTH}\r\n`));
    for (let count = 0; count < chunks; count += 1) reader.push(chunk);
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

  it('when it is complete, and none afterwards', () => {
    const chunk = Buffer.alloc(65_536, 'a');
    const whole = (): unknown => {
      const reader = readerOf(chunk, LENGTH / chunk.length);
      reader.push(Buffer.from('\r\n'));
      return reader;
    };
    expect(retainedBytes(whole)).toBeLessThan(SLACK);
  });
});

describe('a list of short strings', () => {
  const STRINGS = 100_000;
  const text = '$1\r\na\r\n'.repeat(STRINGS);
  const SLACK = 2 ** 20;

  function readerOf(answers?: SharedAllowance): Reader {
    const reader = new Reader(() => {}, answers);
    reader.allowLongAnswers();
    reader.push(Buffer.from(`*${STRINGS + 1}\r\n`));
    return reader;
  }

  it('takes no more memory than its bytes, twice, while it arrives', () => {
    const arriving = (): Reader => {
      const reader = readerOf();
      for (let at = 0; at < text.length; at += 65_536) reader.push(Buffer.from(text.slice(at, at + 65_536)));
      return reader;
    };
    expect(retainedBytes(arriving)).toBeLessThan(2 * text.length + SLACK);
  });

  it('takes no more memory than its bytes, twice, when it is complete', () => {
    const kept: unknown[] = [];
    const complete = (): unknown => {
      const reader = new Reader((message) => kept.push(message));
      reader.allowLongAnswers();
      // Short enough not to be freed.
      reader.push(Buffer.from(`*9000\r\n${'$1\r\na\r\n'.repeat(9_000)}`));
      return kept;
    };
    expect(retainedBytes(complete)).toBeLessThan(2 * 7 * 9_000 + SLACK / 4);
    expect(kept).toHaveLength(1);
  });

  it('counts against what all readers may take', () => {
    const answers = new SharedAllowance(2 * 2 ** 20);
    const readers = Array.from({ length: 3 }, () => readerOf(answers));
    const chunks = Array.from({ length: Math.ceil(text.length / 65_536) }, (_, index) => text.slice(index * 65_536, (index + 1) * 65_536));
    const receive = (reader: Reader): void => {
      for (const chunk of chunks) reader.push(Buffer.from(chunk));
    };
    expect(() => readers.forEach(receive)).toThrow(AnswersTooLarge);
    for (const reader of readers) reader.close();
    receive(readerOf(answers));
  });
});

it('a short message arrives while long ones use up what all readers may take', () => {
  const answers = new SharedAllowance(2 ** 20);
  const [long, { reader: short, messages }] = [new Reader(() => {}, answers), collecting(answers)];
  for (const reader of [long, short]) reader.allowLongAnswers();
  long.push(Buffer.from(`$1200000\r\n`));
  short.push(Buffer.from(':1\r\n'.repeat(20_000)));
  expect(messages).toHaveLength(20_000);
});

it('the memory of a refused message is free at once', () => {
  const before = process.memoryUsage().arrayBuffers;
  const reader = new Reader(() => {});
  reader.allowLongAnswers();
  reader.push(Buffer.from(`$${16 * 2 ** 20}\r\n`));
  expect(process.memoryUsage().arrayBuffers - before).toBeGreaterThan(15 * 2 ** 20);
  reader.close();
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 20);
});

it('the memory of a long message is free at once when it was read, before that of the next one is reserved', () => {
  const read: Reply[] = [];
  const reader = new Reader(({ reply }) => {
    expect(read.map(lengthOf)).toEqual(read.map(() => 0));
    expect(lengthOf(reply)).toBe(1_000_000);
    read.push(reply);
  });
  reader.allowLongAnswers();
  const answer = `$1000000\r\n${'a'.repeat(1_000_000)}\r\n`;
  reader.push(Buffer.from(answer.repeat(3)));
  expect(read).toHaveLength(3);
});

it('a reader that is closed while it delivers a message delivers no other', () => {
  let count = 0;
  const reader = new Reader(() => {
    count += 1;
    reader.close();
  });
  reader.push(Buffer.from(':1\r\n:2\r\n'));
  expect(count).toBe(1);
});
