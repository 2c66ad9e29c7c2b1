/** Whether a server can lose acknowledged commits. */

import { type Row, textAt } from './rows.ts';

const [FSYNC, HAS_SYNCHRONOUS, STANDBYS] = [0, 1, 2] as const;
/**
 * The settings and standbys that decide whether acknowledged commits can be lost. Readers of
 * backups and of logical changes are never promoted.
 */
export const DURABILITY = `SELECT current_setting('fsync'), current_setting('synchronous_standby_names') <> '',
  (SELECT count(*) FROM pg_stat_replication
    WHERE application_name NOT IN ('pg_basebackup', 'pg_receivewal', 'pg_recvlogical') AND state IS DISTINCT FROM 'backup')`;

/** How many standbys are connected. */
export function standbysIn(row: Row): string {
  return textAt(row, STANDBYS);
}

/**
 * How acknowledged commits can be lost, each way as a clause of a sentence. Empty if they cannot.
 */
export function weaknessesIn(row: Row): readonly string[] {
  const weaknesses: string[] = [];
  if (textAt(row, FSYNC) === 'off') weaknesses.push('fsync is off, so a crash of the server may lose what it acknowledged');
  const standbys = standbysIn(row);
  if (standbys !== '0' && textAt(row, HAS_SYNCHRONOUS) === 'f') {
    const which = standbys === '1' ? 'its standby is not synchronous' : `none of its ${standbys} standbys is synchronous`;
    weaknesses.push(`${which} (synchronous_standby_names is empty), so a promoted standby may lack what the server acknowledged`);
  }
  return weaknesses;
}
