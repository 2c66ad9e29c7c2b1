import { describe, expect, it } from 'vitest';

import { checkTls } from '@incumbent/network';

describe('TLS options', () => {
  it.each([
    ['tls.servername', { servername: 5 }],
    ['tls.servername', { servername: ['host'] }],
    ['tls.rejectUnauthorized', { rejectUnauthorized: 'false' }],
    ['tls.rejectUnauthorized', { rejectUnauthorized: 0 }],
  ])('are refused with another type of %s: %j', (option, tls) => {
    const invalid = expect.objectContaining({ code: 'INVALID_OPTION', details: expect.objectContaining({ option }) });
    expect(() => Reflect.apply(checkTls, undefined, [tls])).toThrow(invalid);
  });

  it('may be empty, or hold a server name', () => {
    expect(() => checkTls({})).not.toThrow();
    expect(() => checkTls({ servername: 'host', rejectUnauthorized: false })).not.toThrow();
  });
});
