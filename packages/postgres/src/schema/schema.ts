/** The schema as one statement, and its version. */

import { invalidSecret } from '@incumbent/core/adapter';

import { FUNCTIONS } from './functions.ts';
import { TABLES } from './tables.ts';

/** Rises with every change of the tables or functions. */
export const SCHEMA_VERSION = 5;

/** How long the printed statement waits for a lock, and may delay calls meanwhile, in ms. */
const PRINTED_LOCK_TIMEOUT_MS = 2_000;

/**
 * The statement that creates the schema, or brings an older version of it up to date. Running it
 * again changes nothing, and a newer schema stays as it is. It waits for another process that runs
 * it, and for at most 2 s for each lock. Default schema: `incumbent`. Throws `INVALID_OPTION` for a
 * name that the store does not take.
 */
export function schemaSql(name?: string): string {
  // Also in a schema of this version, of which somebody may have dropped a part.
  return `${createSql(checkSchema(name), PRINTED_LOCK_TIMEOUT_MS, SCHEMA_VERSION + 1)};\n`;
}

/** The same for a store that opens: does nothing if the schema has this version. */
export function migrationSql(schema: string, lockTimeoutMs: number): string {
  return createSql(schema, lockTimeoutMs, SCHEMA_VERSION);
}

/**
 * Leaves a schema of the version `keeps`, or of a newer one, as it is. It is one statement: the
 * server releases the lock at its end, without a further message of the client, so that processes
 * that wait for the lock follow each other at once.
 */
function createSql(schema: string, lockTimeoutMs: number, keeps: number): string {
  return `DO $incumbent_migration$
DECLARE
  v_lock_timeout text := current_setting('lock_timeout');
  v_version integer := 0;
BEGIN
PERFORM set_config('lock_timeout', '${lockTimeoutMs}', true);
PERFORM ${lockOf(schema)};
IF to_regprocedure('${quoted(schema)}.version()') IS NOT NULL THEN
  v_version := ${quoted(schema)}.version();
END IF;
IF v_version < ${keeps} THEN
  EXECUTE $incumbent_schema$${forSchema(schema, `${TABLES}${FUNCTIONS}${VERSION}`)}$incumbent_schema$;
END IF;
-- For the statements that follow in the same transaction, as in a migration tool.
PERFORM set_config('lock_timeout', v_lock_timeout, true);
END $incumbent_migration$`;
}

/** Waits for other processes that create the same schema, until the end of the transaction. */
function lockOf(schema: string): string {
  return `pg_advisory_xact_lock(hashtextextended('incumbent schema ${schema}', 0))`;
}

function forSchema(schema: string, sql: string): string {
  return sql.replaceAll('@schema', quoted(schema)).replaceAll('@name', schema);
}

const VERSION = `
CREATE OR REPLACE FUNCTION @schema.version() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '${SCHEMA_VERSION}'::text $$;
`;

/** What {@link grantSql} grants. */
export const GRANTED = 'USAGE, SELECT, INSERT, UPDATE, DELETE, EXECUTE';

/**
 * The statements that grant a role what the store needs, and nothing else. Throws `INVALID_OPTION`
 * for a name of a schema that the store does not take.
 */
export function grantSql(name: string | undefined, role: string): string {
  const schema = checkSchema(name);
  const [space, grantee] = [quoted(schema), quoted(role)];
  return [
    `GRANT USAGE ON SCHEMA ${space} TO ${grantee}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${space} TO ${grantee}`,
    // Every role has this right, unless somebody has changed the default privileges.
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${space} TO ${grantee}`,
  ].join('; ');
}

/** The statement that grants a role the right to connect. */
export function connectGrantSql(database: string, role: string): string {
  return `GRANT CONNECT ON DATABASE ${quoted(database)} TO ${quoted(role)}`;
}

/**
 * A name as SQL reads it. Without quotes, words such as `user` would be keywords, and each version
 * of PostgreSQL has further ones.
 */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Names of these characters can stand in a text. Returns the default for undefined. */
export function checkSchema(schema: unknown = 'incumbent'): string {
  if (typeof schema === 'string' && /^(?!pg_)[a-z_][a-z0-9_]{0,39}$/.test(schema)) return schema;
  throw invalidSecret('schema', schema, 'a name of at most 40 characters of a-z 0-9 _, without a digit or pg_ in front');
}
