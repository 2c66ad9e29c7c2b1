import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { LOOPBACK } from '../../ports.ts';
import type { Certificates } from '../certificates.ts';
import type { InstancePlan } from '../instance.ts';
import type { RedisOptions } from './types.ts';

export interface ServerPlan extends Omit<RedisOptions, 'version'> {
  readonly folder: string;
  readonly certificates: Certificates | undefined;
  readonly port: number;
}

export async function instancePlan(plan: ServerPlan): Promise<InstancePlan> {
  const { folder, port, persistent = true, flags = [] } = plan;
  const name = `redis-${port}`;
  const data = join(folder, name);
  await mkdir(data);
  // Written before it is answered, so that acknowledged writes survive a kill, but not a loss of
  // power.
  const kept = ['--save', '', '--appendonly', persistent ? 'yes' : 'no', '--appendfsync', 'no'];
  const args = ['--bind', LOOPBACK, ...portFlags(plan), '--dir', data, ...kept, ...authFlags(plan), ...flags];
  return { program: 'redis-server', name, folder, args };
}

export function urlOf({ port, tls }: Pick<ServerPlan, 'port' | 'tls'>): string {
  return `${tls === undefined ? 'redis' : 'rediss'}://${LOOPBACK}:${port}`;
}

export function portFlags({ port, tls, certificates }: Pick<ServerPlan, 'port' | 'tls' | 'certificates'>): readonly string[] {
  if (certificates === undefined) return ['--port', String(port)];
  const { ca, server } = certificates;
  const own = ['--port', '0', '--tls-port', String(port), '--tls-cert-file', server.cert, '--tls-key-file', server.key];
  return [...own, '--tls-ca-cert-file', ca, '--tls-auth-clients', tls === 'mutual' ? 'yes' : 'no'];
}

export function authFlags({ auth }: Pick<ServerPlan, 'auth'>): readonly string[] {
  if (auth === undefined) return [];
  const { user, password } = auth;
  const everything = ['on', `>${password}`, '~*', '&*', '+@all'];
  return ['--user', user, ...everything, ...(user === 'default' ? [] : ['--user', 'default', 'off'])];
}
