import { setting } from '../../settings.ts';
import { StoreUnavailable } from '../source.ts';
import { LocalInstance } from '../local.ts';
import type { ServerSource } from '../server-source.ts';
import { apiServerPrograms } from './build.ts';

let source: Promise<ServerSource> | undefined;

/**
 * The source of API servers: processes of this machine. The first call on a machine builds the
 * server, which takes minutes, unless `prepareApiServer` has already tried to. Throws
 * `StoreUnavailable` if the server cannot be built.
 */
export function kubernetesSource(): Promise<ServerSource> {
  source ??= find();
  return source;
}

async function find(): Promise<ServerSource> {
  const programs = await kubernetesPrograms();
  return { what: 'an API server built here', programs, instance: (plan) => new LocalInstance(programs, plan) };
}

/** The folder with the programs. Throws as {@link kubernetesSource} does. */
export async function kubernetesPrograms(): Promise<string> {
  const failure = setting('INCUMBENT_TEST_NO_API_SERVER');
  if (failure !== undefined) throw new StoreUnavailable('kubernetes', [failure]);
  const programs = await apiServerPrograms().catch((error: unknown) => {
    throw new StoreUnavailable('kubernetes', [buildFailure(error)]);
  });
  if (programs === undefined) throw new StoreUnavailable('kubernetes', ["no packages of Debian's to build the API server from"]);
  return programs;
}

/** What to say about an API server whose build failed. */
export function buildFailure(error: unknown): string {
  return `building the API server: ${error instanceof Error ? error.message : String(error)}`;
}
