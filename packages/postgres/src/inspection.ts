/** What the server reports about itself, for people: the store's `inspect`. */

import type { StoreFact, StoreReport, TimedCall } from '@incumbent/core';

import type { Client } from './client/client.ts';
import { DURABILITY, standbysIn, weaknessesIn } from './client/durability.ts';
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

const [CLOCK_MS, VERSION, SYNCHRONOUS_COMMIT, ISOLATION, IS_POOLED, CONNECTIONS, MAX_CONNECTIONS, SEES_ALL, ROLE, FSYNC, STANDBY_NAMES] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
] as const;
const serverSql = (processId: number): string => `SELECT extract(epoch FROM clock_timestamp()) * 1000, current_setting('server_version'),
  current_setting('synchronous_commit'), current_setting('default_transaction_isolation'), pg_backend_pid() <> ${processId},
  (SELECT sum(numbackends) FROM pg_stat_database), current_setting('max_connections'),
  pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'), current_user, current_setting('fsync'), current_setting('synchronous_standby_names')`;

const [TABLE, LIVE_ROWS, DEAD_ROWS, BYTES] = [0, 1, 2, 3] as const;
const tablesSql = (schema: string): string => `SELECT relname, n_live_tup, n_dead_tup, pg_total_relation_size(relid)
  FROM pg_stat_user_tables WHERE schemaname = '${schema}' ORDER BY relname`;

const [PID, APPLICATION, STATE, OPEN_MS, IDLE_MS, HAS_LOCKS] = [0, 1, 2, 3, 4, 5] as const;
/**
 * Sessions of this database with a transaction that is open. A role without the rights of
 * `pg_read_all_stats` sees its own sessions only. A lock of a row includes a lock of its table.
 */
const sessionsSql = (schema: string): string => `SELECT a.pid, coalesce(a.application_name, ''), coalesce(a.state, ''),
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
  const server = onlyRow(await client.call((_, processId) => serverSql(processId), options));
  const withinMs = (wallMs() - sentAtMs) / 2;
  const tables = await client.call(() => tablesSql(schema), options);
  const sessions = await client.call(() => sessionsSql(schema), options);
  return {
    version: textAt(server, VERSION).split(' ')[0] ?? '',
    clock: { aheadMs: Number(textAt(server, CLOCK_MS)) - (sentAtMs + withinMs), withinMs },
    facts: [
      replicationIn(durability, server),
      {
        what: 'durability',
        detail: `fsync is ${textAt(server, FSYNC)}; synchronous_commit is ${textAt(server, SYNCHRONOUS_COMMIT)} (the store's calls never use less than on)`,
        isWeak: textAt(server, FSYNC) === 'off',
      },
      poolerIn(server),
      { what: 'connections', detail: `${textAt(server, CONNECTIONS)} of ${textAt(server, MAX_CONNECTIONS)} are in use` },
      { what: 'tables', detail: tables.map(describeTable).join('; ') },
      sessionsIn(server, sessions),
    ],
    warnings: [...weaknessesIn(durability), ...settingWarnings(server), ...tables.flatMap(bloatIn), ...sessionWarnings(sessions, schema)],
  };
}

function replicationIn(durability: Row, server: Row): StoreFact {
  const standbys = standbysIn(durability);
  const names = textAt(server, STANDBY_NAMES);
  const mode = names === '' ? 'asynchronous' : `synchronous_standby_names is ${names}`;
  return {
    what: 'replication',
    detail: standbys === '0' && names === '' ? 'no standby' : `standbys that are connected: ${standbys}; ${mode}`,
  };
}

function poolerIn(server: Row): StoreFact {
  const isPooled = textAt(server, IS_POOLED) === 't';
  return { what: 'pooler', detail: isPooled ? 'one is in between: watches ask every 250 ms, because no notifications arrive' : 'none' };
}

function sessionsIn(server: Row, sessions: readonly Row[]): StoreFact {
  const scope =
    textAt(server, SEES_ALL) === 't' ? '' : `, of this role: GRANT pg_read_all_stats TO "${textAt(server, ROLE)}" shows those of others`;
  return { what: 'open transactions', detail: `${sessions.length}${scope}` };
}

function settingWarnings(server: Row): readonly string[] {
  const warnings: string[] = [];
  if (textAt(server, SYNCHRONOUS_COMMIT) === 'off')
    warnings.push(
      'synchronous_commit is off: the store turns it on for its calls, but a crash can lose your own transactions, also guarded ones',
    );
  if (textAt(server, ISOLATION) !== 'read committed')
    warnings.push(
      `default_transaction_isolation is ${textAt(server, ISOLATION)}: the store needs read committed, and calls at the same time fail`,
    );
  const [used, most] = [integerAt(server, CONNECTIONS), integerAt(server, MAX_CONNECTIONS)];
  if (used > most * MOST_CONNECTIONS) warnings.push(`${used} of ${most} connections are in use: the server may refuse the next one`);
  return warnings;
}

function describeTable(table: Row): string {
  const mib = integerAt(table, BYTES) / 2 ** 20;
  return `${textAt(table, TABLE)} ${textAt(table, LIVE_ROWS)} rows, ${textAt(table, DEAD_ROWS)} dead, ${mib.toFixed(1)} MiB`;
}

function bloatIn(table: Row): readonly string[] {
  const [live, dead] = [integerAt(table, LIVE_ROWS), integerAt(table, DEAD_ROWS)];
  if (dead < MANY_DEAD_ROWS || dead < live * DEAD_PER_LIVE) return [];
  return [
    `the table ${textAt(table, TABLE)} has ${dead} dead rows for ${live} live ones: autovacuum is off, or an old transaction or a replication slot keeps them`,
  ];
}

function sessionWarnings(sessions: readonly Row[], schema: string): readonly string[] {
  const warnings = sessions.flatMap((session) => {
    const [forMs, idleMs] = [integerAt(session, OPEN_MS), integerAt(session, IDLE_MS)];
    const isIdle = textAt(session, STATE).startsWith('idle in transaction');
    const who = `the transaction of pid ${textAt(session, PID)} (${textAt(session, APPLICATION) || 'no application_name'})`;
    const open = `${who} is open for ${seconds(forMs)}${isIdle ? `, idle for ${seconds(idleMs)},` : ''}`;
    if (textAt(session, HAS_LOCKS) === 't' && forMs > LONG_LOCK_MS)
      return [`${open} and holds locks in the schema ${schema}: it may delay the next leader, and every swap`];
    if (isIdle && idleMs > LONG_IDLE_MS) return [`${open.replace(/,$/, '')}: somebody may have forgotten it`];
    return forMs > LONG_TRANSACTION_MS ? [`${open}: it keeps dead rows, and tables grow`] : [];
  });
  return warnings.slice(0, MAX_SESSIONS);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(0)} s`;
}
