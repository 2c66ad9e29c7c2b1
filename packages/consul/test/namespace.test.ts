import { isPath } from '@incumbent/core/adapter';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Namespace, readRevision, revisionOf } from '../src/namespace.ts';

const SESSION = '11111111-2222-3333-4444-555555555555';
const pair = { path: 'team/app/q/a', value: new Uint8Array([1]), created: 7, modified: 9, session: '' };
const namespace = new Namespace('team/app');

describe('a key', () => {
  it.each([
    ['a', 'team/app/a'],
    ['a/b.c/~d', 'team/app/a/b.c/,d'],
    ['./../...', 'team/app/=/.=/.=='],
    ['a../..b/c..d', 'team/app/a.=/.=b/c.=d'],
    ['web-1~k3j~1~fifo~', 'team/app/web-1,k3j,1,fifo,'],
  ])('%s has the path %s, and is recovered from the path', (key, path) => {
    expect([namespace.path(key), namespace.entry({ ...pair, path }).key]).toEqual([path, key]);
  });

  /** Consul 1.21.5 accepts only paths of these characters, without two dots in a row. */
  const ACCEPTED = /^(?!.*\.\.)[a-zA-Z0-9,_./\-?&=]+$/;
  const NAME = fc.oneof(fc.stringMatching(/^[A-Za-z0-9._~-]{1,12}$/), fc.stringMatching(/^[.~]{1,4}$/));
  const KEY = fc.array(NAME, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));

  it('of any name has a path that every version accepts, that a URL preserves, and that no other key has', () => {
    fc.assert(
      fc.property(KEY, KEY, (root, key) => {
        expect([isPath(root), isPath(key)]).toEqual([true, true]);
        const named = new Namespace(root);
        for (const { path } of [named.key(key), named.under(key), named.all, ...named.around(named.key(key))]) {
          expect(path).toMatch(ACCEPTED);
          expect(new URL(`http://agent/v1/kv/${path}`).pathname).toBe(`/v1/kv/${path}`);
        }
        const path = named.path(key);
        // A path from which both the namespace and the key are recovered belongs to no other key.
        expect(named.entry({ ...pair, path }).key).toBe(key);
        expect(new Namespace('n').entry({ ...pair, path: `n/${path}` }).key).toBe(`${root}/${key}`);
      }),
    );
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
