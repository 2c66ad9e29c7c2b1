import { systemClock } from '@incumbent/core/adapter';
import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { checkCredentials, type Connect, omitUndefined, readSharedOptions, type SharedOptions } from '@incumbent/network';

const SHAPE = { store: 'shop', known: ['namespace', 'connectTimeoutMs', 'tls', 'connect', 'clock', 'colour'] };

function read(options: SharedOptions<Connect>) {
  return readSharedOptions(options, SHAPE);
}

describe('the options of every adapter', () => {
  it('have defaults', () => {
    expect(read({})).toMatchObject({ namespace: 'incumbent', connectTimeoutMs: 5_000, clock: systemClock, access: '{}' });
  });

  it('are kept where they are given', () => {
    const [clock, connect] = [new ManualClock(), () => expect.unreachable('nobody connects')];
    expect(read({ namespace: 'a/b', connectTimeoutMs: 100, clock, connect })).toEqual({
      namespace: 'a/b',
      connectTimeoutMs: 100,
      clock,
      connect,
      access: undefined,
    });
  });

  it.each<[string, object]>([
    ['namespace', { namespace: '/' }],
    ['connectTimeoutMs', { connectTimeoutMs: 99 }],
    ['tls', { tls: { cert: 'c' } }],
    ['connect', { connect: 'tcp' }],
    ['clock', { clock: {} }],
    ['size', { size: 1 }],
    ['tls', { tls: {}, connect: () => expect.unreachable('nobody connects') }],
  ])('are refused with the name of the option: %s', (name, options) => {
    expect(() => read(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(name) }));
  });
});

it('TLS beside connect is refused, without its key in the error', () => {
  const tls = { cert: 'CERTIFICATE', key: 'SECRET' };
  const connect = (): never => expect.unreachable('nobody connects');
  expect(() => read({ tls, connect })).toThrow(
    expect.objectContaining({
      code: 'INVALID_OPTION',
      message: 'tls is an object: it must be left out beside connect, whose byte stream the store uses as it is',
      details: { option: 'tls', value: 'an object' },
    }),
  );
});

describe('credentials', () => {
  it('are a name and a password, which may be empty', () => {
    expect(checkCredentials({ username: 'alice', password: '' })).toEqual({ username: 'alice', password: '' });
  });

  it('need a name', () => {
    expect(() => checkCredentials({ username: '', password: 'secret' })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.not.stringContaining('secret') }),
    );
  });
});

it('an undefined option counts as not given', () => {
  expect(Object.keys(omitUndefined({ a: 1, b: undefined, c: null }))).toEqual(['a', 'c']);
});
