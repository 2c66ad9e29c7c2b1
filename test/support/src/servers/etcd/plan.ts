import { join } from 'node:path';

import { freePort, LOOPBACK } from '../../ports.ts';
import type { Certificates } from '../certificates.ts';
import type { InstancePlan } from '../instance.ts';
import type { PeerLinks } from './links.ts';
import type { EtcdOptions } from './types.ts';

/** What all servers of one cluster share. */
export interface ClusterPlan extends Pick<EtcdOptions, 'auth' | 'tls' | 'flags'> {
  readonly folder: string;
  readonly certificates: Certificates | undefined;
  /** The proxies between the servers, if they are gated. */
  readonly links: PeerLinks | undefined;
}

/** The addresses of one server. */
export interface Addresses {
  readonly name: string;
  readonly client: string;
  /** The address at which it listens to its peers, and the address that they use. */
  readonly peer: string;
  readonly gate: string;
}

export function pickAddresses(size: number, { tls, links }: ClusterPlan): Promise<readonly Addresses[]> {
  const scheme = tls === undefined ? 'http' : 'https';
  return Promise.all(Array.from({ length: size }, (_, index) => pick(scheme, index, links)));
}

async function pick(scheme: string, index: number, links: PeerLinks | undefined): Promise<Addresses> {
  const [client, port] = [await freePort(), await freePort()];
  // Peers use plain text, because only their clients are tested.
  const peer = `http://${LOOPBACK}:${port}`;
  links?.lead(index, port);
  const gate = links === undefined ? peer : `http://${LOOPBACK}:${links.portOf(index)}`;
  return { name: `etcd-${client}`, client: `${scheme}://${LOOPBACK}:${client}`, peer, gate };
}

export function instancePlan(self: Addresses, all: readonly Addresses[], cluster: ClusterPlan): InstancePlan {
  const { folder } = cluster;
  const args = [...addressFlags(self, all), ...tlsFlags(cluster), ...authFlags(cluster), ...(cluster.flags ?? [])];
  return { program: 'etcd', name: self.name, folder, args: [`--data-dir=${join(folder, self.name)}`, ...args] };
}

function addressFlags(self: Addresses, all: readonly Addresses[]): readonly string[] {
  return [
    `--name=${self.name}`,
    `--listen-client-urls=${self.client}`,
    `--advertise-client-urls=${self.client}`,
    `--listen-peer-urls=${self.peer}`,
    `--initial-advertise-peer-urls=${self.gate}`,
    `--initial-cluster=${all.map(({ name, gate }) => `${name}=${gate}`).join(',')}`,
    '--logger=zap',
    '--log-level=warn',
  ];
}

function tlsFlags({ tls, certificates }: ClusterPlan): readonly string[] {
  if (certificates === undefined) return [];
  const own = [`--cert-file=${certificates.server.cert}`, `--key-file=${certificates.server.key}`];
  return tls === 'mutual' ? [...own, '--client-cert-auth', `--trusted-ca-file=${certificates.ca}`] : own;
}

/** The cheapest password hash, because the passwords are not secret and tests should not wait. */
function authFlags({ auth }: ClusterPlan): readonly string[] {
  return auth === undefined ? [] : ['--bcrypt-cost=4'];
}
