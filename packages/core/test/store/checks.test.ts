import { describe, expect, it } from 'vitest';
import {
  checkCall,
  checkChanges,
  checkListing,
  checkTtl,
  DEFAULT_CALL_TIMEOUT_MS,
  isUrl,
  nameOfKey,
  partOfList,
  urlText,
} from '../../src/adapter.ts';
import { checkFencedChanges } from '../../src/store/checks.ts';
import { World } from '../support/world.ts';

describe('of a list', () => {
  it.each([
    [{}, [1, 2, 3]],
    [{ first: 2 }, [1, 2]],
    [{ first: 9 }, [1, 2, 3]],
    [{ last: 2 }, [2, 3]],
    [{ last: 9 }, [1, 2, 3]],
  ])('%j are %j', (part, some) => {
    expect(partOfList([1, 2, 3], part)).toEqual(some);
  });

  it.each([{}, { first: 1 }, { last: 1 }, { first: undefined, last: 500 }])('%j may be asked for', (part) => {
    expect(() => checkListing(part)).not.toThrow();
  });

  it.each([
    [{ first: 0 }, 'first'],
    [{ first: 1.5 }, 'first'],
    [{ last: -1 }, 'last'],
    [{ last: Number.NaN }, 'last'],
    [{ first: 1, last: 1 }, 'last'],
  ])('%j may not: the error names it', (part, name) => {
    expect(() => checkListing(part)).toThrow(RangeError);
    expect(() => checkListing(part)).toThrow(name);
  });
});

describe('the options of a call', () => {
  const { signal } = new AbortController();

  it.each([[{}], [{ signal }], [{ timeoutMs: undefined }]])('without a timeout have the default one: %j', (options) => {
    expect(Reflect.apply(checkCall, undefined, [options])).toEqual({ ...options, timeoutMs: DEFAULT_CALL_TIMEOUT_MS });
  });

  it.each([
    [{ timeout: 5 }, 'there is no call option "timeout"'],
    [{ limit: 5 }, 'there is no call option "limit"'],
    [{ signal: new AbortController() }, 'signal is an object: it must be an AbortSignal'],
    [{ signal: null, timeoutMs: 5 }, 'signal is null'],
  ])('are refused if they are misspelt or no signal: %j', (options, message) => {
    expect(() => Reflect.apply(checkCall, undefined, [options])).toThrow(message);
  });

  it('keep their timeout', () => {
    const options = { timeoutMs: 1, signal };
    expect(checkCall(options)).toBe(options);
  });

  it.each([[5], ['5'], [null], [{ timeoutMs: 0 }], [{ timeoutMs: null }], [{ timeoutMs: Infinity }], [{ timeoutMs: '5' }]])(
    'are refused: %j',
    (options) => {
      expect(() => Reflect.apply(checkCall, undefined, [options])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    },
  );

  it('may be left out of every call that users make', async () => {
    const store = new World().server.connect();
    expect(await store.read('a')).toBeUndefined();
    expect(await store.list('a')).toEqual([]);
    expect(await store.compareAndSwap([{ key: 'a', expect: null }])).toMatchObject({ swapped: true });
  });
});

describe('the changes of a swap', () => {
  const put = new Uint8Array();

  it.each([
    [{ key: 'a', expect: null, value: 1 }, 'value'],
    [{ key: 'a', expect: null, put, del: true }, 'del'],
    [{ key: 'a', expect: '1', put, delete: true }, 'delete'],
    [{ key: 'a', expect: '1', lease: 'keep' }, 'lease'],
    [{ key: 'a', expect: '1', delete: false }, 'delete'],
  ])('%j is refused, with the field that is wrong', (change, field) => {
    const { capabilities } = new World().server.connect();
    for (const check of [
      () => Reflect.apply(checkChanges, undefined, [[change]]),
      () => Reflect.apply(checkFencedChanges, undefined, [[change], capabilities]),
    ])
      expect(check).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(`\\b${field}\\b`) }));
  });

  it('with a misspelt field lists the fields of all kinds of changes', () => {
    const check = (change: object) => Reflect.apply(checkChanges, undefined, [[change]]);
    expect(() => check({ key: 'a', expect: null, puts: new Uint8Array() })).toThrow(
      /"puts": the options are key, expect, put, lease, delete$/,
    );
    expect(() => check({ key: 'a', expect: null, lease: 'l' })).toThrow(/"lease": the options are key, expect$/);
  });

  it('may check, put or delete', () => {
    expect(() =>
      checkChanges([
        { key: 'a', expect: null },
        { key: 'b', expect: '1', put, lease: 'keep' },
        { key: 'c', expect: '1', delete: true },
      ]),
    ).not.toThrow();
  });
});

describe('a ttl', () => {
  it('is a number above 0 and at most that of the store', () => {
    for (const ttlMs of [0.5, 1, 1_000]) expect(() => checkTtl(ttlMs, 1_000)).not.toThrow();
    for (const ttlMs of [0, -1, 1_001, Infinity, NaN, '5', undefined])
      expect(() => checkTtl(ttlMs, 1_000)).toThrow(/^ttlMs is .*: it must be a number above 0, and at most 1000$/);
  });
});

describe('the name of a key', () => {
  it('is what follows its last slash', () => {
    expect(['a/b/c', 'a'].map((key) => nameOfKey(key))).toEqual(['c', 'a']);
  });
});

describe('a URL', () => {
  it('may be text or an object, in either case', () => {
    expect(['REDIS://Host/My-App', 'memory:A', new URL('ETCD://host:1/x'), 'no url'].map((url) => urlText(url))).toEqual([
      'redis://Host/My-App',
      'memory:A',
      'etcd://host:1/x',
      'no url',
    ]);
    expect([isUrl('x'), isUrl(new URL('memory:')), isUrl({}), isUrl(undefined)]).toEqual([true, true, false, false]);
  });
});
