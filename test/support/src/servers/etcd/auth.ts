import type { Credentials } from '../types.ts';
import type { Etcd } from './types.ts';

/**
 * Creates the user `root` and the requested user, both with all permissions, and enables
 * authentication.
 */
export async function enableAuth(etcd: Etcd, { user, password }: Credentials): Promise<void> {
  // Until authentication is enabled, etcd does not check etcdctl's user, and etcdctl must not
  // request a token.
  const ctl = (...args: readonly string[]): Promise<string> => etcd.ctl(['--user=', ...args]);
  await ctl('user', 'add', `root:${password}`);
  await ctl('role', 'add', 'root');
  await ctl('user', 'grant-role', 'root', 'root');
  if (user !== 'root') {
    await ctl('user', 'add', `${user}:${password}`);
    await ctl('user', 'grant-role', user, 'root');
  }
  await ctl('auth', 'enable');
}
