import type { Leadership } from '../kind.ts';
import { ask } from '../http.ts';
import type { OwnService } from '../types.ts';
import { nameAt } from './plan.ts';

type Address = Pick<OwnService, 'url' | 'tls'>;

/**
 * Whether an agent serves requests: it knows a leader, and the cluster knows it, so that sessions
 * can be created on it.
 */
export async function isServing(agent: Address, token: string | undefined): Promise<boolean> {
  const nodes = await json(agent, '/v1/catalog/nodes?consistent', token);
  const name = nameAt(new URL(agent.url).port);
  return Array.isArray(nodes) && nodes.some((node: unknown) => fieldOf(node, 'Node') === name);
}

/** The version that the agent reports. */
export async function versionOf(agent: Address, token: string | undefined): Promise<string> {
  const version = fieldOf(fieldOf(await json(agent, '/v1/agent/self', token), 'Config'), 'Version');
  if (typeof version !== 'string') throw new Error(`what answers at ${agent.url} is no Consul`);
  return version;
}

/**
 * Whether an agent reports that it leads its cluster, and in which term. Throws if it does not
 * answer within a second.
 */
export async function leadershipOf(agent: Address, token: string | undefined): Promise<Leadership> {
  const stats = fieldOf(await json(agent, '/v1/agent/self', token), 'Stats');
  const term = fieldOf(fieldOf(stats, 'raft'), 'term');
  return { leads: fieldOf(fieldOf(stats, 'consul'), 'leader') === 'true', term: typeof term === 'string' ? BigInt(term) : 0n };
}

async function json({ url, tls }: Address, path: string, token: string | undefined): Promise<unknown> {
  const address = new URL(path, url);
  if (token !== undefined) address.searchParams.set('token', token);
  return JSON.parse(await ask(address.href, { certificates: tls }));
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.entries(value).find(([key]) => key === name)?.[1] : undefined;
}
