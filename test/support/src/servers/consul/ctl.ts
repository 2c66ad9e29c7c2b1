import type { ClusterPlan } from './plan.ts';

/** Commands with subcommands. */
const GROUPS = new Set(['acl', 'catalog', 'config', 'intention', 'kv', 'operator', 'raft', 'token', 'policy']);

type Access = Partial<Pick<ClusterPlan, 'certificates' | 'managementToken'>>;

/**
 * The arguments of Consul's own tool for a command on the agent at this address. Flags must follow
 * the command's words.
 */
export function ctlArgs(url: string, args: readonly string[], { certificates, managementToken }: Access = {}): readonly string[] {
  const words = args.findIndex((word) => !GROUPS.has(word)) + 1;
  const token = managementToken === undefined ? [] : [`-token=${managementToken}`];
  return [...args.slice(0, words), `-http-addr=${url}`, ...token, ...tlsFlags(certificates), ...args.slice(words)];
}

function tlsFlags(certificates: Access['certificates']): readonly string[] {
  if (certificates === undefined) return [];
  const { ca, client } = certificates;
  return [`-ca-file=${ca}`, `-client-cert=${client.cert}`, `-client-key=${client.key}`];
}
