/** The file, open: whatever lies at its path now, and transactions on it. Each is one synchronous step, and none waits for a lock. */

import { statSync } from 'node:fs';

import type { Connect, Connection, Statement } from './connection.ts';
import { numberIn } from './columns.ts';
import { CommitFailure, leavesNothing, storeClosed } from './errors.ts';
import type { Host } from './host.ts';
import { prepare } from './schema.ts';
import { Tables } from './tables.ts';

interface Opened {
  readonly connection: Connection;
  readonly tables: Tables;
  readonly dataVersion: Statement;
  readonly identity: string;
}

export class Database {
  readonly path: string;
  readonly #host: Host;
  readonly #connect: Connect;
  #opened: Opened | undefined;
  #openings = 0;
  #durable = true;
  #isClosed = false;

  constructor(path: string, host: Host, connect: Connect) {
    this.path = path;
    this.#host = host;
    this.#connect = connect;
  }

  /** Changes with every commit of another connection to the file, and when another file has taken its place. */
  version(): string {
    const { dataVersion } = this.#open();
    return `${this.#openings} ${numberIn(dataVersion.get({}) ?? {}, 'data_version')}`;
  }

  /** What one state of the file shows, for work of one statement. */
  look<T>(work: (tables: Tables) => T): T {
    return work(this.#open().tables);
  }

  /**
   * Changes the file, wholly or not at all. `durable`: no loss of power undoes it. Work that throws changes nothing. A commit that may or may not have
   * happened is a `CommitFailure`.
   */
  change<T>(durable: boolean, work: (tables: Tables) => T): T {
    const { connection, tables } = this.#open();
    this.#sync(connection, durable);
    connection.exec('BEGIN IMMEDIATE');
    try {
      const result = work(tables);
      commit(connection);
      return result;
    } catch (error) {
      rollback(connection);
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  /** A file that was removed or replaced is another store: what is open would be one that nobody else sees. */
  #open(): Opened {
    if (this.#isClosed) throw storeClosed();
    if (this.#opened !== undefined && this.#opened.identity === identityOf(this.path)) return this.#opened;
    this.#drop();
    this.#opened = this.#connected();
    return this.#opened;
  }

  #connected(): Opened {
    const connection = this.#connect(this.path);
    try {
      prepare(connection, this.path);
      this.#openings += 1;
      this.#durable = true;
      return {
        connection,
        tables: new Tables(connection, this.#host),
        dataVersion: connection.prepare('PRAGMA data_version'),
        identity: identityOf(this.path),
      };
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  #drop(): void {
    this.#opened?.connection.close();
    this.#opened = undefined;
  }

  /** Within a transaction it could not be set. */
  #sync(connection: Connection, durable: boolean): void {
    if (durable === this.#durable) return;
    connection.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
    this.#durable = durable;
  }
}

function commit(connection: Connection): void {
  try {
    connection.exec('COMMIT');
  } catch (error) {
    throw leavesNothing(error) ? error : new CommitFailure(error);
  }
}

function rollback(connection: Connection): void {
  try {
    connection.exec('ROLLBACK');
  } catch {
    // SQLite has rolled it back by itself.
  }
}

/** Never by opening it: to close any descriptor of a file gives up all locks that the process has on it. */
function identityOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.dev} ${stats.ino}`;
}
