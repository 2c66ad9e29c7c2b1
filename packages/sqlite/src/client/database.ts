/** The file, open: whatever lies at its path now, and transactions on it. Each is one synchronous step, and none waits for a lock. */

import { statSync } from 'node:fs';

import type { Connect, Connection, Statement } from './connection.ts';
import { numberIn } from '../schema/columns.ts';
import { CommitFailure, foreignLog, LateLook, leavesNothing, replacedAtOpening, storeClosed } from '../errors.ts';
import { makePrivate } from '../host/file-permissions.ts';
import type { Host } from '../host/host.ts';
import { prepare } from '../schema/schema.ts';
import { Tables } from '../schema/tables.ts';

/** How long after the clock the file may be looked at: whoever is stopped in between for longer has to look again. */
export const LATE_US = 1_000_000;

interface Opened {
  readonly connection: Connection;
  readonly tables: Tables;
  readonly dataVersion: Statement;
  readonly files: Files;
}

/** Which files lie at the path and beside it, by their inodes; undefined: none. */
interface Files {
  readonly main: string | undefined;
  readonly log: string | undefined;
  readonly index: string | undefined;
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

  /** Changes with every commit of another connection to the file; and, if that `isLookedFor`, when another file has taken its place. */
  version(isLookedFor: boolean): string {
    const { dataVersion } = isLookedFor || this.#opened === undefined ? this.#open() : this.#opened;
    return `${this.#openings} ${numberIn(dataVersion.get({}) ?? {}, 'data_version')}`;
  }

  /** What the file shows; in one state only for work of one statement. Throws a `LateLook` where that may not be so. */
  look<T>(work: (tables: Tables) => T): T {
    const nowUs = this.#host.nowUs();
    const seen = this.lookAt(nowUs, work);
    this.checkInTime(nowUs);
    return seen;
  }

  /** As it is at an instant of the host's clock, which is now: true only if that is in time. */
  lookAt<T>(nowUs: number, work: (tables: Tables) => T): T {
    const { tables } = this.#open();
    tables.nowUs = nowUs;
    tables.lateUs = LATE_US;
    return work(tables);
  }

  /** Throws a `LateLook` where a look at that instant took so long that what it saw may be wrong. */
  checkInTime(nowUs: number): void {
    if (this.#host.nowUs() - nowUs > LATE_US) throw new LateLook();
  }

  /**
   * Changes the file, wholly or not at all. `durable`: no loss of power undoes it. Work that throws changes nothing. A commit that may or may not have
   * happened is a `CommitFailure`.
   */
  change<T>(durable: boolean, work: (tables: Tables) => T): T {
    const { connection, tables } = this.#open();
    this.#sync(connection, durable);
    connection.exec('BEGIN IMMEDIATE');
    tables.nowUs = this.#host.nowUs();
    tables.lateUs = 0;
    try {
      const result = work(tables);
      commit(connection);
      return result;
    } catch (error) {
      this.#rollback(connection);
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  /**
   * A file that was removed or replaced is another store, and a log that was is one that nobody else reads: whoever went on with what it has open would lead beside
   * those who open what is there.
   */
  #open(): Opened {
    if (this.#isClosed) throw storeClosed();
    const files = filesAt(this.path);
    const opened = this.#opened;
    if (opened !== undefined && isSame(opened.files, files)) return opened;
    if (opened !== undefined && opened.files.main !== files.main && opened.files.log === files.log) throw foreignLog(this.path);
    this.#drop();
    this.#opened = this.#connected(files.main);
    return this.#opened;
  }

  #connected(before: string | undefined): Opened {
    if (before === undefined) makePrivate(this.path);
    const connection = this.#connect(this.path);
    try {
      const { main } = filesAt(this.path);
      // What was opened is not there any more.
      if (main === undefined || (before !== undefined && before !== main)) throw replacedAtOpening(this.path);
      prepare(connection, this.path);
      this.#openings += 1;
      this.#durable = true;
      return {
        connection,
        tables: new Tables(connection, this.#host),
        dataVersion: connection.prepare('PRAGMA data_version'),
        files: { ...filesAt(this.path), main },
      };
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  #rollback(connection: Connection): void {
    try {
      connection.exec('ROLLBACK');
    } catch {
      // Either SQLite has done it by itself, or it is still under way, and the file locked: which of them cannot be told.
      this.#drop();
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

/** Never by opening them: to close any descriptor of a file gives up all locks that the process has on it. */
function filesAt(path: string): Files {
  return { main: identityOf(path), log: identityOf(`${path}-wal`), index: identityOf(`${path}-shm`) };
}

function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stats && `${stats.dev} ${stats.ino}`;
}

function isSame(one: Files, other: Files): boolean {
  return one.main === other.main && one.log === other.log && one.index === other.index;
}
