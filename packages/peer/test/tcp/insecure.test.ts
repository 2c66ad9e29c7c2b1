/** The transport warns about a port without security that other machines can reach. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '@incumbent/test-support';
import { TcpTransport, type TcpTransportOptions } from '../../src/index.ts';

const SECURE = { secret: 'a secret that all members know' };
const warnings: string[] = [];
const listener = (warning: Error & { code?: string }): void => void warnings.push(`${warning.code}: ${warning.message}`);

beforeEach(() => void process.on('warning', listener));
afterEach(() => {
  process.off('warning', listener);
  warnings.length = 0;
});

async function warningsOf(host: string, security: Partial<TcpTransportOptions>): Promise<readonly string[]> {
  const port = await freePort();
  await using transport = new TcpTransport({ memberId: 'a', members: { a: `${host}:${port}` }, ...security });
  await transport.election('controller').open({ memberId: 'a', members: ['a'], receive: () => {} });
  // Node emits a warning one tick later.
  await new Promise((resolve) => setImmediate(resolve));
  return warnings.map((warning) => warning.replace(String(port), 'PORT'));
}

describe('a transport without security', () => {
  it('warns if other machines can reach its port', async () => {
    expect(await warningsOf('0.0.0.0', { insecure: true })).toEqual([
      'INCUMBENT_PEERS_INSECURE: peer: 0.0.0.0:PORT is open without security: whoever reaches it can be any member. Give the transport a secret or tls',
    ]);
  });

  it.each([
    ['only this machine reaches it', '127.0.0.1', { insecure: true }],
    ['members share a secret', '0.0.0.0', SECURE],
  ])('does not warn if %s', async (_, host, security) => {
    expect(await warningsOf(host, security)).toEqual([]);
  });
});
