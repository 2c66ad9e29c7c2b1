import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { StoreUrl, type StoreUrlShape } from '@incumbent/network';

const SHAPE: StoreUrlShape = {
  schemes: ['shop'],
  secureSchemes: ['shops'],
  parameters: ['timeoutMs', 'kind', 'connectTimeoutMs'],
  example: 'shop://host:port/namespace',
};

function read(text: string): StoreUrl {
  return new StoreUrl(text, SHAPE);
}

describe('a URL', () => {
  it('has hosts, a namespace, a user and parameters', async () => {
    const url = read('shop://al%40ice:s%3Acr%40t@one:1,[::1]:2,three/team/a%2Fb?timeoutMs=700&kind=a+b');
    expect(url.hosts).toEqual(['one:1', '[::1]:2', 'three']);
    expect(url.namespace).toBe('team/a/b');
    expect(url.user).toEqual({ name: 'al@ice', password: 's:cr@t' });
    expect(url.number('timeoutMs')).toBe(700);
    expect(url.text('kind')).toBe('a b');
    expect(url.tls()).toBeUndefined();
  });

  it('returns the common options of adapters that it holds', () => {
    expect(read('shop://one').sharedOptions).toEqual({});
    expect(read('shop://one/team?connectTimeoutMs=700').sharedOptions).toEqual({ namespace: 'team', connectTimeoutMs: 700 });
    expect(read('shops://one?servername=two').sharedOptions).toEqual({ tls: { servername: 'two' } });
  });

  it('returns credentials if it holds a user', () => {
    expect(read('shop://one').credentials).toBeUndefined();
    expect(read('shop://al%40ice:s%3Acr%40t@one').credentials).toEqual({ username: 'al@ice', password: 's:cr@t' });
  });

  it.each(['alice', ':secret'])('is refused with a user and no password, or the reverse: %s', (user) => {
    expect(() => read(`shop://${user}@one`).credentials).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.not.stringContaining('secret') }),
    );
  });

  it.each(['shop://app:q1@w2@one', 'shop://app:q1/w2@one', 'shop://app:q1?w2@one', 'shop://app:q1#w2@one', 'shop://app:5%@one'])(
    'is refused with a message that says how to encode a password, and does not show it: %s',
    (text) => {
      const hint = expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining('@ as %40, / as %2F') });
      expect(() => read(text).user).toThrow(hint);
      expect(() => read(text).user).not.toThrow(/q1|w2|5%@/);
    },
  );

  it('is refused without a hint on passwords if it holds none', () => {
    expect(() => read('shop://')).toThrow(expect.objectContaining({ message: expect.not.stringContaining('%40') }));
  });

  it.each(['shop://one', 'shop://one/', 'shop://one?'])('may lack namespace, user and parameters: %s', (text) => {
    const url = read(text);
    expect(url).toMatchObject({ hosts: ['one'], namespace: '', user: undefined });
    expect(url.number('timeoutMs')).toBeUndefined();
    expect(url.text('kind')).toBeUndefined();
  });

  it.each([
    ['alice', { name: 'alice', password: undefined }],
    ['alice:', { name: 'alice', password: '' }],
    [':secret', { name: '', password: 'secret' }],
    ['a:b:c', { name: 'a', password: 'b:c' }],
  ])('has %s before its host', (user, parts) => {
    expect(read(`shop://${user}@one`).user).toEqual(parts);
  });

  it('names the files of its certificates', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'store url '));
    try {
      const ca = join(folder, 'ca.pem');
      await writeFile(ca, '-----BEGIN CERTIFICATE-----\n');
      const url = read(`shops://one?ca=${encodeURIComponent(ca)}&servername=shop.internal`);
      expect(url.tls()).toEqual({ ca: { file: ca }, servername: 'shop.internal' });
      const missing = read(`shops://one?cert=${encodeURIComponent(join(folder, 'none'))}`);
      expect(() => missing.tls()).toThrow(expect.objectContaining({ code: 'ENOENT' }));
      expect(read('shops://one').tls()).toEqual({});
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it.each([
    ['another scheme', 'http://alice:secret@one', 'url is http://one: it must be shop://host:port/namespace'],
    ['no scheme', 'alice:secret@one', 'url is a string of 16 characters'],
    ['a scheme that every object has', 'constructor://one', 'url is constructor://one'],
    ['no host', 'shop://alice:secret@', 'url is shop://… (20 characters)'],
    ['a bare @ in its password', 'shop://alice:secret@more@one', 'url is shop://… (28 characters)'],
    ['a bare ? in its password', 'shop://alice:12?secret@one', 'url is shop://… (26 characters)'],
    ['a fragment', 'shop://alice:secret@one#x', 'url is shop://… (25 characters)'],
    [
      'an unknown parameter',
      'shop://alice:secret@one?retries=secret',
      'url parameter 1 is a string of 7 characters: it must be one of timeoutMs, kind',
    ],
    ['a parameter twice', 'shop://one?kind=secret&kind=secret', 'kind is an array of 2: it must be given once'],
    ['TLS parameters without TLS', 'shop://one?ca=x', 'it must be one of timeoutMs, kind'],
    ['a bad percent in its namespace', 'shop://alice:secret@one/%zz', 'namespace is a string of 3 characters: it must be percent-encoded'],
    ['a namespace that is the end of a password', 'shop://alice:12/secret%40one', 'namespace is a string of 10 characters'],
  ])('with %s is refused, and its password not told', (_, text, message) => {
    const refusal = expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(message) });
    expect(() => read(text)).toThrow(refusal);
    expect(() => read(text)).toThrow(expect.not.objectContaining({ message: expect.stringContaining('secret') }));
  });

  it('returns a parameter that must be one of several words', () => {
    expect(read('shop://one?kind=b').oneOf('kind', ['a', 'b'])).toBe('b');
    expect(read('shop://one').oneOf('kind', ['a', 'b'])).toBeUndefined();
    expect(() => read('shop://one?kind=secret').oneOf('kind', ['a', 'b'])).toThrow(
      'kind is a string of 6 characters: it must be one of a, b',
    );
  });

  it('returns a parameter that must be true or false', () => {
    expect(['?kind=true', '?kind=false', ''].map((query) => read(`shop://one${query}`).boolean('kind'))).toEqual([true, false, undefined]);
    expect(() => read('shop://one?kind=yes').boolean('kind')).toThrow('kind is a string of 3 characters: it must be one of true, false');
  });

  it('throws for an invalid part when that part is read', () => {
    expect(() => read('shop://one?timeoutMs=soon').number('timeoutMs')).toThrow(
      'timeoutMs is a string of 4 characters: it must be a number',
    );
    expect(() => read('shop://alice:%zz@one').user).toThrow('password is a string of 3 characters');
  });
});

describe('a parameter that turns TLS on', () => {
  const shape = {
    schemes: ['db'],
    secureSchemes: [],
    secureBy: { parameter: 'sslmode', plain: ['disable'], secure: ['require'] },
    parameters: ['schema'],
    example: 'db://host',
  };

  it('is off by default, and has the words of the store', () => {
    expect(new StoreUrl('db://one', shape).isSecure).toBe(false);
    expect(new StoreUrl('db://one?sslmode=disable', shape).tls()).toBeUndefined();
    expect(new StoreUrl('db://one?sslmode=require&servername=two&schema=s', shape).tls()).toEqual({ servername: 'two' });
  });

  it.each(['db://one?sslmode=maybe', 'db://one?sslmode=disable&servername=two', 'db://one?servername=two'])('refuses %s', (url) => {
    expect(() => new StoreUrl(url, shape)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});
