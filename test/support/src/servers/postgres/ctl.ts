import type { OwnService } from '../types.ts';

/** In s, and the shortest that libpq accepts: a server that is paused must not delay its user. */
const CONNECT_TIMEOUT_S = '2';

/** The arguments for psql, as the superuser. */
export function ctlArgs({ url, tls }: Pick<OwnService, 'url' | 'tls'>, args: readonly string[]): readonly string[] {
  const address = new URL(url);
  address.searchParams.set('connect_timeout', CONNECT_TIMEOUT_S);
  if (tls !== undefined) {
    const { ca, client } = tls;
    const files = { sslmode: 'verify-full', sslrootcert: ca, sslcert: client.cert, sslkey: client.key };
    for (const [name, value] of Object.entries(files)) address.searchParams.set(name, value);
  }
  return ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', address.href, ...args];
}
