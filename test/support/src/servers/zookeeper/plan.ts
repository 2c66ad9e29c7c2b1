import { freePort, LOOPBACK } from '../../ports.ts';
import type { Certificates } from '../certificates.ts';
import type { Keystores } from './keystores.ts';
import type { ZookeeperOptions } from './types.ts';

/** What all servers of one cluster share. */
export interface ClusterPlan extends Omit<ZookeeperOptions, 'version'> {
  readonly folder: string;
  readonly certificates: Certificates | undefined;
  readonly keystores: Keystores | undefined;
}

/** One server: its number in the cluster, from 1, and its ports. */
export interface ServerPlan {
  readonly id: number;
  readonly name: string;
  readonly client: number;
  /** Followers connect to this port of the leader. */
  readonly quorum: number;
  readonly election: number;
}

export function pickPorts(size: number): Promise<readonly ServerPlan[]> {
  return Promise.all(Array.from({ length: size }, (_, index) => pick(index + 1)));
}

async function pick(id: number): Promise<ServerPlan> {
  const [client, quorum, election] = [await freePort(), await freePort(), await freePort()];
  return { id, name: `zookeeper-${client}`, client, quorum, election };
}

export function urlOf({ client }: ServerPlan, { tls }: ClusterPlan): string {
  return `${tls === undefined ? 'zookeeper' : 'zookeepers'}://${LOOPBACK}:${client}`;
}
