export { openSqlite } from './open.ts';
export type { SqliteOptions } from './options.ts';
