import { freePort, LOOPBACK } from '../../ports.ts';
import type { Certificates } from '../certificates.ts';
import type { ConsulOptions } from './types.ts';

/** What all agents of one cluster share. */
export interface ClusterPlan extends ConsulOptions {
  readonly folder: string;
  readonly certificates: Certificates | undefined;
}

/** One agent and its ports. */
export interface AgentPlan {
  readonly isServer: boolean;
  readonly name: string;
  /** For clients. */
  readonly http: number;
  /** For gossip. */
  readonly serf: number;
  /** For other agents' requests. */
  readonly rpc: number;
}

export function pickPorts(servers: number, agents: number): Promise<readonly AgentPlan[]> {
  return Promise.all(Array.from({ length: servers + agents }, (_, index) => pick(index < servers)));
}

async function pick(isServer: boolean): Promise<AgentPlan> {
  const [http, serf, rpc] = [await freePort(), await freePort(), await freePort()];
  return { isServer, name: nameAt(http), http, serf, rpc };
}

/** An agent is named after its port, so that its URL tells its name. */
export function nameAt(port: number | string): string {
  return `consul-${port}`;
}

export function urlOf({ http }: AgentPlan, { tls }: ClusterPlan): string {
  return `${tls === undefined ? 'http' : 'https'}://${LOOPBACK}:${http}`;
}
