import { inspect } from 'node:util';

import { describe, expect, it } from 'vitest';

import { accessOf, optionsIn } from '../src/index.ts';

describe('the access with which another process opens a store', () => {
  it('is the store’s options as text', () => {
    const options = { endpoints: ['a:1'], namespace: 'app', credentials: { username: 'alice', password: 's"cret' } };
    const access = accessOf({ ...options, connect: undefined });
    expect(access).toBeTypeOf('string');
    expect(optionsIn(access ?? '')).toEqual(options);
  });

  it('holds certificates as text, whatever type they were given as', () => {
    const tls = { ca: [Buffer.from('CA 1'), 'CA 2'], cert: Buffer.from('CERT'), key: 'KEY', servername: 'x', rejectUnauthorized: false };
    expect(optionsIn(accessOf({ tls }) ?? '')).toEqual({
      tls: { ca: ['CA 1', 'CA 2'], cert: 'CERT', key: 'KEY', servername: 'x', rejectUnauthorized: false },
    });
    expect(optionsIn(accessOf({ tls: { ca: new Uint8Array([67, 65]) } }) ?? '')).toEqual({ tls: { ca: 'CA' } });
    expect(optionsIn(accessOf({ tls: { ca: { file: '/etc/../ca.pem' } } }) ?? '')).toEqual({ tls: { ca: { file: '/ca.pem' } } });
    expect(optionsIn(accessOf({ tls: {} }) ?? '')).toEqual({ tls: {} });
  });

  it('is undefined if the options hold a function of the caller', () => {
    expect(accessOf({ connect: () => {} })).toBeUndefined();
    expect(accessOf({ clock: {} })).toBeUndefined();
  });

  it.each([
    ['7', 'a number'],
    ['null', 'null'],
    ['"text"', 'a string of 4 characters'],
    ['["hunter2"]', 'an array of 1'],
    ['{"password":"hunter2",}', 'a string of 23 characters'],
    ['hunter2', 'a string of 7 characters'],
    ['', 'a string of 0 characters'],
  ])('is refused if it holds no options, with an error that shows nothing of it: %s', (access, shown) => {
    let error: unknown;
    try {
      optionsIn(access);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: 'INVALID_OPTION', message: `access is ${shown}: it must be the options of a store` });
    expect(inspect(error)).not.toContain('hunter2');
  });
});
