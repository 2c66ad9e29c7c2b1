import { freePort, LOOPBACK } from '../../ports.ts';
import type { Certificates } from '../certificates.ts';
import { Gates } from './gates.ts';
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
  /** The gates of the server, whose ports are its own. */
  readonly gates: Gates | undefined;
}

export function pickPorts(servers: number, agents: number, gated: boolean): Promise<readonly AgentPlan[]> {
  return Promise.all(Array.from({ length: servers + agents }, (_, index) => pick(index < servers, gated)));
}

async function pick(isServer: boolean, isGated: boolean): Promise<AgentPlan> {
  const http = await freePort();
  const gates = isServer && isGated ? await Gates.open() : undefined;
  return { isServer, name: nameAt(http), http, serf: gates?.serf ?? (await freePort()), rpc: gates?.rpc ?? (await freePort()), gates };
}

/** An agent is named after its port, so that its URL determines its name. */
export function nameAt(port: number | string): string {
  return `consul-${port}`;
}

export function urlOf({ http }: AgentPlan, { tls }: ClusterPlan): string {
  return `${tls === undefined ? 'http' : 'https'}://${LOOPBACK}:${http}`;
}
