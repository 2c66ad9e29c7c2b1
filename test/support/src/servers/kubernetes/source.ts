import { StoreUnavailable } from '../source.ts';
import { LocalInstance } from '../local.ts';
import type { ServerSource } from '../server-source.ts';
import { apiServerPrograms } from './build.ts';

let source: Promise<ServerSource> | undefined;

/**
 * The source of API servers: processes of this machine. The first call on a machine builds the
 * server, which takes minutes. Throws `StoreUnavailable` if it cannot be built.
 */
export function kubernetesSource(): Promise<ServerSource> {
  source ??= find();
  return source;
}

async function find(): Promise<ServerSource> {
  const programs = await apiServerPrograms().catch((error: unknown) => {
    throw new StoreUnavailable('kubernetes', [`building the API server: ${error instanceof Error ? error.message : String(error)}`]);
  });
  if (programs === undefined) throw new StoreUnavailable('kubernetes', ["no packages of Debian's to build the API server from"]);
  return { what: 'an API server built here', programs, instance: (plan) => new LocalInstance(programs, plan) };
}
