import type { OwnService } from '../types.ts';

/**
 * The arguments for etcdctl, as `root` if there are users. A flag in `args` replaces the generated
 * one. A flag without a value (`--user=`) only removes it. (If a flag is given twice, etcdctl
 * combines some of them, and it rejects empty ones.)
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
