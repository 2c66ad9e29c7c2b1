/** The schema as one script, and its version. */

import { FUNCTIONS } from './functions.ts';
import { TABLES } from './tables.ts';

/** Rises with every change of the tables or functions. */
export const SCHEMA_VERSION = 1;

/**
 * The statements that create the schema, or bring an older version of it up to date. Running them
 * again changes nothing. They run in one transaction, and wait for another process that runs them.
 */
export function schemaSql(schema: string): string {
  return `BEGIN;
${lockSql(schema)};
${createSql(schema)}
COMMIT;
`;
}

/** Waits for other processes that create the same schema, until the end of the transaction. */
export function lockSql(schema: string): string {
  return `SELECT pg_advisory_xact_lock(hashtextextended('incumbent schema ${schema}', 0))`;
}

/** The statements without the transaction around them. `schema` needs no quotes. */
export function createSql(schema: string): string {
  return `${TABLES}${FUNCTIONS}${VERSION}`.replaceAll('@schema', schema);
}

const VERSION = `
CREATE OR REPLACE FUNCTION @schema.version() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '${SCHEMA_VERSION}'::text $$;
`;

/** Grants a role what the store needs, and nothing else. */
export function grantSql(schema: string, role: string): string {
  return `GRANT USAGE ON SCHEMA ${schema} TO ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`;
}
