import { describe, expect, it } from 'vitest';

import { describeHidden, showUrl, withoutSecret } from '../../src/base/redact.ts';

describe('a URL that is shown', () => {
  it.each([
    ['redis://user:SECRET@127.0.0.1:6379/my-app?password=SECRET', 'redis://127.0.0.1:6379/my-app'],
    ['consul://:SECRET@[::1]:8500', 'consul://[::1]:8500'],
    ['etcd://a:2379,b:2379/my-app', 'etcd://a:2379,b:2379/my-app'],
    ['sqlite:/var/lib/a@b/state.db?moved=true', 'sqlite:/var/lib/a@b/state.db'],
    ['sqlite:///var/lib/state.db', 'sqlite:///var/lib/state.db'],
    ['sqlite://user:SECRET@a', 'sqlite://a'],
    ['memory:a/b', 'memory:a/b'],
  ])('%s is %s', (url, shown) => {
    expect(showUrl(url)).toBe(shown);
  });

  it.each(['pa/SECRET', 'pa@SECRET', 'SECRET?x', 'SECRET#x', 'pa//SECRET', '12/SECRET', '12?SECRET', 'pa@@SE/CR?ET#SECRET', 'SECRET@\n'])(
    'with the password %j is its scheme and its length',
    (password) => {
      const url = `redis://user:${password}@127.0.0.1:6379/my-app`;
      expect(showUrl(url)).toBe(`redis://… (${url.length} characters)`);
    },
  );

  it.each([
    'redis:user:SECRET@a',
    'user:SECRET@a:6379',
    'SECRET',
    'memory:user:SECRET@a',
    'sqlite:://user:SECRET@a',
    ' redis://user:SECRET@a',
  ])('is its length where it is none: %s', (url) => {
    expect(showUrl(url)).not.toContain('SECRET');
    expect(showUrl(url)).toContain(`${url.length} characters`);
  });
});

it('a secret is taken out of what is answered', () => {
  expect(withoutSecret('a secret, a secret', 'secret')).toBe('a …, a …');
  expect([withoutSecret('text', ''), withoutSecret('text', undefined)]).toEqual(['text', 'text']);
});

it('a hidden value is its type and its length', () => {
  const values = ['secret', new Uint8Array(3), ['a'], {}, undefined, null, 7, 7n, true, () => {}];
  expect(values.map(describeHidden)).toEqual([
    'a string of 6 characters',
    '3 bytes',
    'an array of 1',
    'an object',
    'undefined',
    'null',
    'a number',
    'a bigint',
    'a boolean',
    'a function',
  ]);
});
