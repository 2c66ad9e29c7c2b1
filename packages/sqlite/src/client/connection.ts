/** What is used of Node's own SQLite, so that a test can stand in its place. */

import { StoreError } from '@incumbent/core/adapter';

export type Parameters = Readonly<Record<string, string | number | Uint8Array | null>>;

export type Columns = Readonly<Record<string, unknown>>;

export interface Statement {
  get(parameters: Parameters): Columns | undefined;
  all(parameters: Parameters): readonly Columns[];
  run(parameters: Parameters): unknown;
}

export interface Connection {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

/** Opens a file, which is made if it is absent. Throws what SQLite says. */
export type Connect = (path: string) => Connection;

/** Node's own SQLite. Rejects with a `StoreError` (`UNSUPPORTED`) where Node has none. */
export async function connector(): Promise<Connect> {
  try {
    const { DatabaseSync } = await import('node:sqlite');
    return (path) => new DatabaseSync(path);
  } catch (cause) {
    const message = `sqlite: Node ${process.versions.node} cannot load node:sqlite: it takes 22.23, 24.15, 26 or newer`;
    throw new StoreError('UNSUPPORTED', 'refused', message, { cause });
  }
}
