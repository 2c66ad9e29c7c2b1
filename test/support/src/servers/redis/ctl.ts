import type { OwnService } from '../types.ts';

/**
 * The arguments with which redis-cli reaches a Redis, logged in where it has users. Flags may
 * precede the command.
 */
export function ctlArgs({ url, auth, tls }: Pick<OwnService, 'url' | 'auth' | 'tls'>, args: readonly string[]): readonly string[] {
  const { hostname, port } = new URL(url);
  return [
    ...['-h', hostname, '-p', port, '-e'],
    ...(auth === undefined ? [] : ['--user', auth.user, '--pass', auth.password, '--no-auth-warning']),
    ...(tls === undefined ? [] : ['--tls', '--cacert', tls.ca, '--cert', tls.client.cert, '--key', tls.client.key]),
    ...args,
  ];
}
