import { describe, expect, it } from 'vitest';

import { linesTo } from '../src/lines.ts';
import { readTelling, readTold, writeLine, type Told } from '../src/messages.ts';
import { nodeOptions } from '../src/spawn.ts';

const all: readonly Told[] = [
  { type: 'parent', pid: 1, started: '2', space: 'pid:[1] time:[2]' },
  { type: 'parent', pid: 1 },
  { type: 'store', store: 1, module: 'file:///a', access: '{"password":"s\\ncret"}' },
  { type: 'lease', lease: 2, store: 1, owner: 1, ticket: 't' },
  { type: 'renewed', lease: 2, safeUntil: 1.5, wallSafeUntil: 2, overBy: 3 },
  { type: 'forget', lease: 2 },
  { type: 'group', pid: 3, owner: 1, started: '4', at: 1.5, wallAt: 2 },
  { type: 'release', pid: 3 },
  { type: 'end' },
];

describe('what is told by the pipe', () => {
  it.each(all)('is read as it was written: $type', (message) => {
    const line = writeLine(message);
    expect(line.indexOf('\n')).toBe(line.length - 1);
    expect(readTold(line)).toEqual(message);
  });

  it('is read line by line, however the bytes come', () => {
    const text = all.map(writeLine).join('');
    for (const size of [1, 7, 1_000]) {
      const read: Told[] = [];
      const take = linesTo((line) => read.push(readTold(line)));
      for (let at = 0; at < text.length; at += size) take(text.slice(at, at + size));
      expect(read).toEqual(all);
    }
  });

  it.each(['', '{', 'null', '7', '[]', '{}', '{"type":"toString"}', '{"type":"lease","lease":2}', '{"type":"parent","pid":"1"}'])(
    'is refused where it is something else: %s',
    (line) => expect(() => readTold(line)).toThrow(SyntaxError),
  );

  it('is refused without a word of it, as there may be a secret in it', () => {
    expect(() => readTold('{"type":"store","access":"hunter2"}')).toThrow(/^(?!.*hunter2)/);
  });

  it('is answered', () => {
    expect(readTelling(writeLine({ type: 'refused', why: 'so' }))).toEqual({ type: 'refused', why: 'so' });
    expect(() => readTelling('{"type":"end"}')).toThrow(SyntaxError);
  });
});

describe('the options of Node that the reaper is started with', () => {
  it.each([
    [[], []],
    [
      ['--conditions=a', '-C', 'b', '--conditions', 'c'],
      ['--conditions=a', '-C', 'b', '--conditions', 'c'],
    ],
    [['--inspect=0.0.0.0:9229', '--max-old-space-size=8192', '--require', './trace.js', '--import=x', '--test'], []],
    [
      ['--expose-gc', '--use-system-ca', '--disable-warning=DEP1'],
      ['--use-system-ca', '--disable-warning=DEP1'],
    ],
  ])('of %j are %j', (given, kept) => {
    expect(nodeOptions(given)).toEqual(kept);
  });
});
