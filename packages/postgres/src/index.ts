export type { Connect, Endpoint, Pem, PemFile, TlsOptions } from '@incumbent/network';
export { openPostgres } from './open.ts';
export type { Credentials, PostgresOptions } from './options.ts';
export { grantSql, schemaSql } from './schema/schema.ts';
export { isStaleTerm, sqlGuard } from './sql-fence.ts';
export type { SqlGuard } from './sql-guard.ts';
