import { describe, expect, it } from 'vitest';

import { Namespace, readRevision, revisionOf } from '../src/namespace.ts';

const SESSION = '11111111-2222-3333-4444-555555555555';
const pair = { path: 'team/app/q/a', value: new Uint8Array([1]), created: 7, modified: 9, session: '' };
const namespace = new Namespace('team/app');

describe('a key', () => {
  it.each([
    ['a', 'team/app/a'],
    ['a/b.c/~d', 'team/app/a/b.c/~d'],
    ['./../...', 'team/app/%2e/%2e%2e/...'],
  ])('%s has the path %s, and is recovered from the path', (key, path) => {
    expect([namespace.path(key), namespace.entry({ ...pair, path }).key]).toEqual([path, key]);
  });

  it('has the indexes of its last change and its creation, and its lease', () => {
    const entry = { key: 'q/a', name: 'a', value: pair.value, revision: '9', order: 7n };
    expect(namespace.entry(pair)).toEqual(entry);
    expect(namespace.entry({ ...pair, session: SESSION })).toEqual({ ...entry, revision: `9@${SESSION}`, lease: SESSION });
  });

  it('is listed in the order of creation, without folders', () => {
    const [first, second, folder] = ['z', 'b', 'c/'].map((name, created) => ({ ...pair, path: `team/app/q/${name}`, created }));
    expect(namespace.entries([second!, folder!, first!]).map(({ name }) => name)).toEqual(['z', 'b']);
  });

  it('can be watched with the keys that begin with the same name, and with all keys', () => {
    expect(namespace.around(namespace.key('elections/a/leader')).map(({ path }) => path)).toEqual(['team/app/elections/', 'team/app/']);
    expect(namespace.around(namespace.under('elections')).map(({ path }) => path)).toEqual(['team/app/elections/', 'team/app/']);
    expect(namespace.around(namespace.key('a')).map(({ path }) => path)).toEqual(['team/app/']);
  });
});

describe('a revision', () => {
  it('is the index of the last change, and the session that holds the key', () => {
    expect([revisionOf(pair), revisionOf({ ...pair, session: SESSION })]).toEqual(['9', `9@${SESSION}`]);
    expect([readRevision('9'), readRevision(`9@${SESSION}`)]).toEqual([
      { index: 9, lease: undefined },
      { index: 9, lease: SESSION },
    ]);
  });

  it.each(['', 'x', '-1', '0', '1@', '1@g', '12345678901234567'])('"%s" is of no key', (revision) => {
    expect(readRevision(revision)).toEqual({ index: 1, lease: undefined });
  });
});
