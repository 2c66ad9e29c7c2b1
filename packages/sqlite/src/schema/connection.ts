/** The part of Node's SQLite that this package uses, as an interface that tests can implement. */

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

/** Opens a file, and creates it if it is absent. Throws SQLite's own errors. */
export type Connect = (path: string) => Connection;
