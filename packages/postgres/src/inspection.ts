/** What the server reports about itself, for people: the store's `inspect`. */

import type { StoreFact, StoreReport, TimedCall } from '@incumbent/core';

import type { Client } from './client/client.ts';
import { DURABILITY, weaknessesIn } from './client/durability.ts';
import { integerAt, onlyRow, type Row, textAt } from './client/rows.ts';
import { quoted } from './schema/schema.ts';

/** A transaction that has locked rows of the schema for longer delays elections noticeably. */
const LONG_LOCK_MS = 1_000;
/** A transaction that is open for longer keeps dead rows, so that tables grow. */
const LONG_TRANSACTION_MS = 300_000;
/** A session that is idle inside a transaction for longer has probably been forgotten. */
const LONG_IDLE_MS = 10_000;
/** This many rows are dead between two runs of autovacuum, even in a small table. */
const MANY_DEAD_ROWS = 20_000;
/** Dead rows per live row beyond which a table is bloated. */
const DEAD_PER_LIVE = 4;
/** The part of the connections in use beyond which new ones may soon be refused. */
const MOST_CONNECTIONS = 0.9;
/** How many sessions are listed. */
const MAX_SESSIONS = 5;

const SERVER = (processId: number): string => `SELECT extract(epoch FROM clock_timestamp()) * 1000, current_setting('server_version'),
  current_setting('synchronous_commit'), current_setting('default_transaction_isolation'), pg_backend_pid() <> ${processId},
  (SELECT sum(numbackends) FROM pg_stat_database), current_setting('max_connections'),
  pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'), current_user, current_setting('fsync'), current_setting('synchronous_standby_names')`;

const TABLES = (schema: string): string => `SELECT relname, n_live_tup, n_dead_tup, pg_total_relation_size(relid)
  FROM pg_stat_user_tables WHERE schemaname = '${schema}' ORDER BY relname`;

/**
 * Sessions of this database with a transaction that is open. A role without the rights of
 * `pg_read_all_stats` sees its own sessions only. A lock of a row includes a lock of its table.
 */
const SESSIONS = (schema: string): string => `SELECT a.pid, coalesce(a.application_name, ''), coalesce(a.state, ''),
    (extract(epoch FROM clock_timestamp() - a.xact_start) * 1000)::bigint,
    coalesce((extract(epoch FROM clock_timestamp() - a.state_change) * 1000)::bigint, 0),
    EXISTS (SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation AND c.relnamespace = '${quoted(schema)}'::regnamespace
      WHERE l.pid = a.pid AND l.granted AND l.mode <> 'AccessShareLock')
  FROM pg_stat_activity a
  WHERE a.datname = current_database() AND a.backend_type = 'client backend' AND a.pid <> pg_backend_pid() AND a.xact_start IS NOT NULL
  ORDER BY a.xact_start`;

/** `wallMs` reads this process's wall clock. Rejects with an `ExchangeError`. */
export async function inspect(client: Client, schema: string, options: TimedCall, wallMs: () => number): Promise<StoreReport> {
  const durability = onlyRow(await client.call(() => DURABILITY, options));
  const sentAtMs = wallMs();
  const server = onlyRow(await client.call((_, processId) => SERVER(processId), options));
  const withinMs = (wallMs() - sentAtMs) / 2;
  const tables = await client.call(() => TABLES(schema), options);
  const sessions = await client.call(() => SESSIONS(schema), options);
  return {
    version: textAt(server, 1).split(' ')[0] ?? '',
    clock: { aheadMs: Number(textAt(server, 0)) - (sentAtMs + withinMs), withinMs },
    facts: [
      replicationIn(durability, server),
      {
        what: 'durability',
        detail: `fsync is ${textAt(server, 9)}; synchronous_commit is ${textAt(server, 2)} (the store's calls never use less than on)`,
      },
      poolerIn(server),
      { what: 'connections', detail: `${textAt(server, 5)} of ${textAt(server, 6)} are in use` },
      { what: 'tables', detail: tables.map(describeTable).join('; ') },
      sessionsIn(server, sessions),
    ],
    warnings: [...weaknessesIn(durability), ...settingWarnings(server), ...tables.flatMap(bloatIn), ...sessionWarnings(sessions, schema)],
  };
}

function replicationIn(durability: Row, server: Row): StoreFact {
  const standbys = textAt(durability, 2);
  const names = textAt(server, 10);
  const mode = names === '' ? 'asynchronous' : `synchronous_standby_names is ${names}`;
  return {
    what: 'replication',
    detail: standbys === '0' && names === '' ? 'no standby' : `standbys that are connected: ${standbys}; ${mode}`,
  };
}

function poolerIn(server: Row): StoreFact {
  const isPooled = textAt(server, 4) === 't';
  return { what: 'pooler', detail: isPooled ? 'one is in between: watches ask every 250 ms, because no notifications arrive' : 'none' };
}

function sessionsIn(server: Row, sessions: readonly Row[]): StoreFact {
  const scope = textAt(server, 7) === 't' ? '' : `, of this role: GRANT pg_read_all_stats TO "${textAt(server, 8)}" shows those of others`;
  return { what: 'open transactions', detail: `${sessions.length}${scope}` };
}

function settingWarnings(server: Row): readonly string[] {
  const warnings: string[] = [];
  if (textAt(server, 2) === 'off')
    warnings.push(
      'synchronous_commit is off: the store turns it on for its calls, but a crash can lose your own transactions, also guarded ones',
    );
  if (textAt(server, 3) !== 'read committed')
    warnings.push(`default_transaction_isolation is ${textAt(server, 3)}: the store needs read committed, and calls at the same time fail`);
  const [used, most] = [integerAt(server, 5), integerAt(server, 6)];
  if (used > most * MOST_CONNECTIONS) warnings.push(`${used} of ${most} connections are in use: the server may refuse the next one`);
  return warnings;
}

function describeTable(table: Row): string {
  const mib = integerAt(table, 3) / 2 ** 20;
  return `${textAt(table, 0)} ${textAt(table, 1)} rows, ${textAt(table, 2)} dead, ${mib.toFixed(1)} MiB`;
}

function bloatIn(table: Row): readonly string[] {
  const [live, dead] = [integerAt(table, 1), integerAt(table, 2)];
  if (dead < MANY_DEAD_ROWS || dead < live * DEAD_PER_LIVE) return [];
  return [
    `the table ${textAt(table, 0)} has ${dead} dead rows for ${live} live ones: autovacuum is off, or an old transaction or a replication slot keeps them`,
  ];
}

function sessionWarnings(sessions: readonly Row[], schema: string): readonly string[] {
  const warnings = sessions.flatMap((session) => {
    const [forMs, idleMs] = [integerAt(session, 3), integerAt(session, 4)];
    const isIdle = textAt(session, 2).startsWith('idle in transaction');
    const who = `the transaction of pid ${textAt(session, 0)} (${textAt(session, 1) || 'no application_name'})`;
    const open = `${who} is open for ${seconds(forMs)}${isIdle ? `, idle for ${seconds(idleMs)},` : ''}`;
    if (textAt(session, 5) === 't' && forMs > LONG_LOCK_MS)
      return [`${open} and holds locks in the schema ${schema}: it may delay the next leader, and every swap`];
    if (isIdle && idleMs > LONG_IDLE_MS) return [`${open.replace(/,$/, '')}: somebody may have forgotten it`];
    return forMs > LONG_TRANSACTION_MS ? [`${open}: it keeps dead rows, and tables grow`] : [];
  });
  return warnings.slice(0, MAX_SESSIONS);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(0)} s`;
}
