import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkSignal } from '../../src/async/abort.ts';
import {
  checkBoolean,
  checkFunction,
  checkKnown,
  checkName,
  checkNumber,
  checkOneOf,
  invalidOption,
  invalidText,
} from '../../src/base/validate.ts';
import { check } from '../support/property.ts';

describe('an option that cannot be used', () => {
  it('is a RangeError where the type was right, a TypeError where it was not', () => {
    for (const value of [5, 5n, 'five']) expect(invalidOption('n', value, 'less')).toBeInstanceOf(RangeError);
    for (const value of [undefined, null, {}, [], () => {}, true, Symbol('s')])
      expect(invalidOption('n', value, 'a number')).toBeInstanceOf(TypeError);
  });

  it('is named and shown, with what is allowed', () => {
    expect(invalidOption('ttlMs', 5, 'more').message).toBe('ttlMs is 5: it must be more');
    expect(invalidOption('ttlMs', 5n, 'more').message).toBe('ttlMs is 5n: it must be more');
    expect(invalidOption('x', true, 'c').message).toBe('x is true: it must be c');
    expect(invalidOption('x', [1], 'c').message).toBe('x is an array of 1: it must be c');
    expect(invalidOption('x', { secret: 1 }, 'c').message).toBe('x is an object: it must be c');
    expect(invalidOption('x', Symbol('s'), 'c').message).toBe('x is a symbol: it must be c');
    expect(invalidOption('x', null, 'c').message).toBe('x is null: it must be c');
    expect(invalidOption('x', () => {}, 'c').message).toBe('x is a function: it must be c');
  });

  it('is described when it is text, which may be a URL or a password in the wrong place', () => {
    const error = invalidOption('ttlMs', 'password', 'a number');
    expect(error).toMatchObject({ message: 'ttlMs is a string of 8 characters: it must be a number' });
    expect(error).toMatchObject({ details: { option: 'ttlMs', value: 'a string of 8 characters' } });
  });

  it('is shown when it is a name or a path', () => {
    const error = invalidText('x', 'a"b', 'c');
    expect(error).toMatchObject({ message: 'x is "a\\"b": it must be c', details: { option: 'x', value: 'a"b' } });
    expect(invalidText('x', 'y'.repeat(1_000_000), 'c').message.length).toBeLessThan(120);
    expect(invalidText('x', ['a'], 'c').message).toBe('x is an array of 1: it must be c');
  });

  it.each(['redis://app:password', 'app:password@host', 'redis:app:password@host'])(
    'is described when it is a name or a path that looks like the URL %s',
    (text) => {
      const described = `a string of ${text.length} characters`;
      expect(invalidText('x', text, 'c')).toMatchObject({ message: `x is ${described}: it must be c`, details: { value: described } });
      expect(() => checkName('x', text)).toThrow(expect.objectContaining({ details: { what: 'x', name: described } }));
      const unknown = expect.objectContaining({
        message: `there is no x option ${described}: the options are y`,
        details: { option: described },
      });
      expect(() => checkKnown('x', { [text]: 1 }, ['y'])).toThrow(unknown);
    },
  );
});

describe('a name', () => {
  it('is 1 to 128 of A-Z a-z 0-9 . _ -', () => {
    check(
      fc.property(fc.stringMatching(/^[A-Za-z0-9._-]{1,128}$/), (name) => {
        fc.pre(name !== '.' && name !== '..');
        return checkName('election', name) === name;
      }),
    );
  });

  it.each(['', '.', '..', 'a/b', 'a~b', 'ä', 'a b', 'a\n', '\n', 'x'.repeat(129), 5, undefined, null])(
    'is refused otherwise: %j',
    (name) => {
      expect(() => checkName('election', name)).toThrow(
        expect.objectContaining({ code: 'INVALID_NAME', details: { what: 'election', name } }),
      );
      expect(() => checkName('election', name)).toThrow(RangeError);
    },
  );
});

describe('a number', () => {
  it('is taken from min to max, both allowed, and left out it is the default', () => {
    const range = { min: 1, max: 3 };
    expect([1, 2.5, 3, undefined].map((value) => checkNumber('n', value, 7, range))).toEqual([1, 2.5, 3, 7]);
  });

  it.each([0.99, 3.01, Number.NaN, Infinity, -Infinity, '2', null, 2n, true])('is refused outside: %s', (value) => {
    expect(() => checkNumber('n', value, 7, { min: 1, max: 3, why: 'reason' })).toThrow(
      /n is .*: it must be a number from 1 to 3 \(reason\)/,
    );
  });
});

describe('the other checks', () => {
  it('take one of some words, and name them all when refusing', () => {
    expect(checkOneOf('how', undefined, 'wait', ['wait', 'refuse'])).toBe('wait');
    expect(checkOneOf('how', 'refuse', 'wait', ['wait', 'refuse'])).toBe('refuse');
    expect(() => checkOneOf('how', 'Refuse', 'wait', ['wait', 'refuse'])).toThrow(
      'how is a string of 6 characters: it must be one of "wait", "refuse"',
    );
  });

  it('refuse an option that nobody reads, with the names of those that are', () => {
    expect(() => checkKnown('member', { ttlMs: 1 }, ['ttlMs'])).not.toThrow();
    expect(() => checkKnown('member', { ttl: 'secret' }, ['ttlMs', 'drainMs'])).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        message: 'there is no member option "ttl": the options are ttlMs, drainMs',
        details: { option: 'ttl' },
      }),
    );
  });

  it('take an AbortSignal or nothing, in the options of a call, which have nothing else', () => {
    const { signal } = new AbortController();
    expect(checkSignal({ signal })).toBe(signal);
    expect(checkSignal({})).toBeUndefined();
    for (const options of [{ signal: null }, { signal: {} }, { signal: new AbortController() }, { signl: signal }, signal]) {
      expect(() => Reflect.apply(checkSignal, undefined, [options])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    }
  });

  it('take a function', () => {
    expect(() => checkFunction('work', () => {})).not.toThrow();
    expect(() => checkFunction('work', undefined)).toThrow('work is undefined: it must be a function');
  });
});

describe('a boolean', () => {
  it('has a fallback, and no other type', () => {
    expect([undefined, true, false].map((value) => checkBoolean('flag', value, true))).toEqual([true, true, false]);
    for (const value of ['true', 1, null])
      expect(() => checkBoolean('flag', value, true)).toThrow(/^flag is .*: it must be true or false$/);
  });
});
