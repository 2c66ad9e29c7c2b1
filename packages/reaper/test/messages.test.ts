import { describe, expect, it } from 'vitest';

import { parseParentMessage, parseReaperMessage, serializeMessage, splitLines, type ParentMessage } from '../src/messages.ts';
import { nodeOptions } from '../src/spawn.ts';

const all: readonly ParentMessage[] = [
  { type: 'parent', pid: 1, started: '2', space: 'pid:[1] time:[2]' },
  { type: 'parent', pid: 1 },
  { type: 'store', store: 1, module: 'file:///a', access: '{"password":"s\\ncret"}' },
  { type: 'dropStore', store: 1 },
  { type: 'lease', lease: 2, store: 1, owner: 1, ticket: 't', from: 1.5 },
  { type: 'lease', lease: 2, store: 1, owner: 1, ticket: 't' },
  { type: 'renewed', lease: 2, safeUntil: 1.5, wallSafeUntil: 2, overBy: 3 },
  { type: 'forget', lease: 2 },
  { type: 'group', pid: 3, owner: 1, started: '4', at: 1.5, wallAt: 2 },
  { type: 'release', pid: 3 },
  { type: 'end' },
];

describe('a message on the pipe', () => {
  it.each(all)('is read as it was written: $type', (message) => {
    const line = serializeMessage(message);
    expect(line.indexOf('\n')).toBe(line.length - 1);
    expect(parseParentMessage(line)).toEqual(message);
  });

  it('is read line by line, however the bytes are split', () => {
    const text = all.map(serializeMessage).join('');
    for (const size of [1, 7, 1_000]) {
      const read: ParentMessage[] = [];
      const take = splitLines((line) => read.push(parseParentMessage(line)));
      for (let at = 0; at < text.length; at += size) take(text.slice(at, at + size));
      expect(read).toEqual(all);
    }
  });

  it.each([
    '',
    '{',
    'null',
    '7',
    '[]',
    '{}',
    '{"type":"toString"}',
    '{"type":"lease","lease":2}',
    '{"type":"lease","lease":2,"store":1,"owner":1,"ticket":"t","from":"1"}',
    '{"type":"parent","pid":"1"}',
  ])('is rejected if its shape is wrong: %s', (line) => expect(() => parseParentMessage(line)).toThrow(SyntaxError));

  it('is rejected without being quoted, as it may contain a secret', () => {
    expect(() => parseParentMessage('{"type":"store","access":"hunter2"}')).toThrow(/^(?!.*hunter2)/);
  });

  it('of the reaper is read as it was written', () => {
    expect(parseReaperMessage(serializeMessage({ type: 'refused', why: 'so' }))).toEqual({ type: 'refused', why: 'so' });
    expect(() => parseReaperMessage('{"type":"refused"}')).toThrow(SyntaxError);
    expect(() => parseReaperMessage('{')).toThrow(SyntaxError);
  });

  it('of a newer reaper is ignored if its type is unknown', () => {
    expect(parseReaperMessage('{"type":"toString"}')).toBeUndefined();
  });
});

describe('the Node options of the reaper process', () => {
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
  ])('for the parent’s %j are %j', (given, kept) => {
    expect(nodeOptions(given)).toEqual(kept);
  });
});
