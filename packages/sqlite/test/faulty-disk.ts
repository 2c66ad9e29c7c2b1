/** SQLite on a disk that fails, and among processes that keep the file locked. */

import { DatabaseSync } from 'node:sqlite';

import type { Connection, Statement } from '../src/schema/connection.ts';

/** Numbers of sqlite.org/rescode.html. */
export const Code = { busy: 5, readonly: 8, ioerr: 10, corrupt: 11, full: 13, fsync: 1034 } as const;

/** As Node throws it. */
export function sqliteError(errcode: number, message: string = 'planted'): Error {
  return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode, errstr: message });
}

export class FaultyDisk {
  /** Connections that are open. */
  open = 0;
  #fault: number | undefined;
  #once = false;
  #failCommit: number | undefined;

  connect(path: string): Connection {
    this.#check();
    const database = new DatabaseSync(path);
    this.open += 1;
    return {
      exec: (sql) => this.#exec(database, sql),
      prepare: (sql) => this.#prepare(database, sql),
      close: () => {
        this.open -= 1;
        database.close();
      },
    };
  }

  /** Another process keeps the whole file locked. */
  lock(): void {
    this.#fault = Code.busy;
  }

  /** Everything fails, with this code. */
  fail(errcode: number = Code.ioerr): void {
    this.#fault = errcode;
  }

  /** The next step fails. */
  failOnce(): void {
    this.#fault = Code.ioerr;
    this.#once = true;
  }

  /** The next commit is done, and says that it failed. */
  failNextCommit(errcode: number = Code.fsync): void {
    this.#failCommit = errcode;
  }

  heal(): void {
    this.#fault = undefined;
    this.#failCommit = undefined;
    this.#once = false;
  }

  #exec(database: DatabaseSync, sql: string): void {
    if (sql !== 'ROLLBACK') this.#check();
    database.exec(sql);
    const code = this.#failCommit;
    if (sql !== 'COMMIT' || code === undefined) return;
    this.#failCommit = undefined;
    throw sqliteError(code);
  }

  #prepare(database: DatabaseSync, sql: string): Statement {
    this.#check();
    const statement = database.prepare(sql);
    return {
      get: (parameters) => this.#checked(() => statement.get(parameters)),
      all: (parameters) => this.#checked(() => statement.all(parameters)),
      run: (parameters) => this.#checked(() => statement.run(parameters)),
    };
  }

  #checked<T>(step: () => T): T {
    this.#check();
    return step();
  }

  #check(): void {
    const fault = this.#fault;
    if (fault === undefined) return;
    if (this.#once) this.heal();
    throw sqliteError(fault);
  }
}
