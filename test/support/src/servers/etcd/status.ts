import type { Certificates } from '../certificates.ts';
import { ask } from '../http.ts';
import type { Leadership } from '../kind.ts';
import type { Etcd } from './types.ts';

const SHORT = ['--dial-timeout=500ms', '--command-timeout=500ms'];

/** The id of the etcd server of one endpoint among its peers. */
export async function idOf(etcd: Pick<Etcd, 'ctl'>): Promise<string> {
  return (await statusOf(etcd))[1] ?? '';
}

/**
 * Whether the etcd server of one endpoint reports that it leads its cluster, and in which term.
 * Throws if it does not answer within half a second.
 */
export async function leadershipOf(etcd: Pick<Etcd, 'ctl'>): Promise<Leadership> {
  const columns = await statusOf(etcd);
  return { leads: columns[4] === 'true', term: BigInt(columns[6] ?? '') };
}

/** Endpoint, id, version, size, whether it leads, whether it is a learner, term. */
async function statusOf(etcd: Pick<Etcd, 'ctl'>): Promise<readonly string[]> {
  const line = await etcd.ctl([...SHORT, 'endpoint', 'status', '--write-out=simple']);
  return line.trim().split(', ');
}

/** The version that the server at this address reports. */
export async function versionOf(url: string, certificates?: Certificates): Promise<string> {
  const { etcdserver } = toObject(JSON.parse(await ask(`${url}/version`, { certificates })));
  if (typeof etcdserver !== 'string') throw new Error(`what answers at ${url} is no etcd`);
  return etcdserver;
}

/**
 * Whether a server serves requests: it knows a leader, and the cluster has just agreed on an entry.
 */
export async function isHealthy(url: string, certificates?: Certificates): Promise<boolean> {
  return toObject(JSON.parse(await ask(`${url}/health`, { certificates })))['health'] === 'true';
}

function toObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
