import type { Leadership } from '../kind.ts';
import type { StoreService } from '../types.ts';

type Server = Pick<StoreService, 'url' | 'ctl'>;

/**
 * Whether the server is a primary, and its timeline, which a promotion increments. Only a primary
 * knows its own timeline for certain.
 */
const LEADERSHIP = `select not pg_is_in_recovery(), case when pg_is_in_recovery() then 0
  else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int end`;

/** Whether the server accepts connections. A standby server accepts those that read. */
export async function isServing(server: Server): Promise<boolean> {
  return (await server.ctl(['-c', 'select 1'])).trim() === '1';
}

/** The version that the server reports. */
export async function versionOf(server: Server): Promise<string> {
  const version = /^\d+(?:\.\d+)*/.exec(await server.ctl(['-c', 'show server_version']))?.[0];
  if (version === undefined) throw new Error(`what answers at ${server.url} is no PostgreSQL`);
  return version;
}

/** Whether the server is a primary, and the number of its timeline. */
export async function leadershipOf(server: Server): Promise<Leadership> {
  const [leads, timeline = ''] = (await server.ctl(['-c', LEADERSHIP])).trim().split('|');
  return { leads: leads === 't', term: BigInt(timeline) };
}
