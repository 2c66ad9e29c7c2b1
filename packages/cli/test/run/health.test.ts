import { Server } from 'node:http';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { parseHealthAddress, startHealthServer } from '../../src/run/health.ts';

describe('the health server', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('keeps serving after errors of its socket', async () => {
    const listen = vi.spyOn(Server.prototype, 'listen');
    await using health = await startHealthServer({ host: '127.0.0.1', port: 0 }, {}, () => {});
    const [server] = listen.mock.contexts;
    if (!(server instanceof Server)) throw new TypeError('nothing listens');
    for (let i = 0; i < 3; i += 1) server.emit('error', new Error('accept EMFILE'));
    expect((await fetch(`http://127.0.0.1:${health.port}/`)).status).toBe(404);
  });
});

describe('the address of the health server', () => {
  it.each([
    ['8080', { host: undefined, port: 8080 }],
    ['127.0.0.1:8080', { host: '127.0.0.1', port: 8080 }],
    ['[::1]:8080', { host: '::1', port: 8080 }],
  ])('is parsed from %s', (text, address) => {
    expect(parseHealthAddress(text)).toEqual(address);
  });

  it.each(['', 'x', '70000', ':', '1.2.3.4:'])('is not parsed from "%s"', (text) => {
    expect(() => parseHealthAddress(text)).toThrow(`--health-port is a string of ${text.length} characters`);
  });
});
