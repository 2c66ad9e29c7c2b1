import type { Credentials } from '../types.ts';
import type { Etcd } from './types.ts';

/**
 * Makes the user `root`, and the one asked for with the same rights, and switches authentication
 * on.
 */
export async function enableAuth(etcd: Etcd, { user, password }: Credentials): Promise<void> {
  // Until authentication is on, whom the witness calls itself is not looked at; and it must not ask
  // for a token.
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
