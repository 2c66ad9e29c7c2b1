/** What is used of Node's own SQLite, so that a test can stand in its place. */

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
