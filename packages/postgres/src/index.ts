export type { Connect, Endpoint, Pem, PemFile, TlsOptions } from '@incumbent/network';
export { openPostgres } from './open.ts';
export type { Credentials, PostgresOptions, PostgresPoolOptions, PostgresStoreOptions } from './options.ts';
export type { PostgresPool } from './pool-option.ts';
export { grantSql, schemaSql } from './schema/schema.ts';
export { isStaleTerm, sqlGuard } from './sql-guard.ts';
export type { SqlGuard } from './guard-statement.ts';
