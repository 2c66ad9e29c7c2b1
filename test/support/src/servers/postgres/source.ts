import { candidatesOf, serverSource, type ServerSource } from '../server-source.ts';
import type { StoreVersion } from '../types.ts';
import { postgresImages } from './image.ts';
import { newerPostgresPrograms, postgresPrograms } from './programs.ts';

/**
 * The source of PostgreSQL's servers: the system's version, or 17. Searched on the first call.
 * Throws `StoreUnavailable` if there is none.
 */
export function postgresSource(version: StoreVersion = 'default'): Promise<ServerSource> {
  const programs = version === 'default' ? postgresPrograms : newerPostgresPrograms;
  return serverSource('postgres', version, candidatesOf(postgresImages[version], programs));
}
