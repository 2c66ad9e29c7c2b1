import type { OwnService } from '../types.ts';

/**
 * The arguments with which etcdctl reaches an etcd, as `root` where it has users. A flag in `args`
 * takes the place of the one from here; one without a value (`--user=`) only leaves it out. (Given
 * twice, etcdctl would add some flags up, and it takes no empty ones.)
 */
export function ctlArgs(
  endpoints: readonly string[],
  { auth, tls }: Pick<OwnService, 'auth' | 'tls'>,
  args: readonly string[],
): readonly string[] {
  const defaults = [
    `--endpoints=${endpoints.join(',')}`,
    ...(auth === undefined ? [] : [`--user=root:${auth.password}`]),
    ...(tls === undefined ? [] : [`--cacert=${tls.ca}`, `--cert=${tls.client.cert}`, `--key=${tls.client.key}`]),
  ];
  const given = new Set(args.map(flagOf));
  return [...defaults.filter((flag) => !given.has(flagOf(flag))), ...args.filter((arg) => !/^--[a-z-]+=$/.test(arg))];
}

function flagOf(arg: string): string | undefined {
  return /^--[a-z-]+/.exec(arg)?.[0];
}
