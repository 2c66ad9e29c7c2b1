import type { OwnService } from '../types.ts';

/** The arguments for redis-cli, logged in if there are users. Flags may precede the command. */
export function ctlArgs({ url, auth, tls }: Pick<OwnService, 'url' | 'auth' | 'tls'>, args: readonly string[]): readonly string[] {
  const { hostname, port } = new URL(url);
  return [
    ...['-h', hostname, '-p', port, '-e'],
    ...(auth === undefined ? [] : ['--user', auth.user, '--pass', auth.password, '--no-auth-warning']),
    ...(tls === undefined ? [] : ['--tls', '--cacert', tls.ca, '--cert', tls.client.cert, '--key', tls.client.key]),
    ...args,
  ];
}
