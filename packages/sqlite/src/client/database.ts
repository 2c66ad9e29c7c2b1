/**
 * The open file, and transactions on it. Each transaction is one synchronous step, and none waits
 * for a lock: SQLite reports a locked file at once.
 */

import type { StoreError } from '@incumbent/core';

import {
  CommitFailure,
  commitWroteNothing,
  foreignLog,
  isFull,
  logNotYetRemoved,
  replacedAtOpening,
  SlowRead,
  storeClosed,
} from '../errors.ts';
import { statsOf } from '../host/database-path.ts';
import { createPrivate } from '../host/file-permissions.ts';
import type { Host } from '../host/host.ts';
import { numberIn } from '../schema/columns.ts';
import type { Connect, Connection, Statement } from '../schema/connection.ts';
import { CHECKPOINT, prepare } from '../schema/schema.ts';
import { Tables } from '../schema/tables.ts';
import { checkVersion } from './node-sqlite.ts';

/** A read that ends later than this after its reading of the clock is done again. */
export const MAX_READ_US = 1_000_000;

/** After the file was removed or replaced, its log may stay at the path for this long. */
const LOG_REMOVAL_US = 1_000_000;

interface Opened {
  readonly connection: Connection;
  readonly tables: Tables;
  readonly dataVersion: Statement;
  readonly files: Files;
}

/** The files at the path and beside it, by device and inode. Undefined: there is no such file. */
interface Files {
  readonly main: string | undefined;
  readonly log: string | undefined;
  readonly index: string | undefined;
}

interface WriteOptions {
  /** Whether a loss of power must not undo the transaction. Default false. */
  readonly durable?: boolean;
}

export class Database {
  readonly path: string;
  readonly #host: Host;
  readonly #connect: Connect;
  #opened: Opened | undefined;
  #openings = 0;
  /** When the log was first seen without its own file. Undefined: the two belong together. */
  #foreignLogSinceUs: number | undefined;
  #isDurable = true;
  #isClosed = false;

  /** The constructor opens nothing: the first use opens the file. */
  constructor(path: string, host: Host, connect: Connect) {
    this.path = path;
    this.#host = host;
    this.#connect = connect;
  }

  /**
   * A value that changes with every commit of another connection. With `checkFile` it also changes
   * when another file has taken the place of this one.
   */
  changeToken({ checkFile }: { readonly checkFile: boolean }): string {
    const { dataVersion } = checkFile || this.#opened === undefined ? this.#open() : this.#opened;
    return `${this.#openings} ${numberIn(dataVersion.get({}) ?? {}, 'data_version')}`;
  }

  /**
   * Reads the file. Only work of a single statement sees one state of the file. Throws `SlowRead`
   * if the read took so long that leases may have ended meanwhile.
   */
  read<T>(work: (tables: Tables) => T): T {
    const nowUs = this.#host.nowUs();
    const result = this.readAt(nowUs, work);
    this.checkInTime(nowUs);
    return result;
  }

  /**
   * Reads the file with `nowUs`, just read from the host's clock, as the time by which leases end.
   * The result holds only if `checkInTime` does not throw afterwards.
   */
  readAt<T>(nowUs: number, work: (tables: Tables) => T): T {
    const { tables } = this.#open();
    tables.readAt(nowUs, MAX_READ_US);
    return work(tables);
  }

  /** Throws `SlowRead` if reads at `nowUs` took too long. */
  checkInTime(nowUs: number): void {
    if (this.#host.nowUs() - nowUs > MAX_READ_US) throw new SlowRead();
  }

  /**
   * Runs `work` in a transaction, which changes the file wholly or not at all. If `work` throws,
   * nothing changes. Throws `CommitFailure` if the commit failed although it may have happened. May
   * run `work` a second time: if the disk is full, the transaction is tried again after a
   * checkpoint, which lets the log start again from its beginning. Otherwise the log itself could
   * fill a small disk, and nothing would make room.
   */
  write<T>(work: (tables: Tables) => T, { durable = false }: WriteOptions = {}): T {
    try {
      return this.#writeOnce(work, durable);
    } catch (error) {
      if (!isFull(error) || !this.#checkpoint()) throw error;
      return this.#writeOnce(work, durable);
    }
  }

  #writeOnce<T>(work: (tables: Tables) => T, durable: boolean): T {
    const { connection, tables } = this.#open();
    this.#setDurable(connection, durable);
    connection.exec('BEGIN IMMEDIATE');
    tables.readAt(this.#host.nowUs(), 0);
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
    this.#disconnect();
  }

  /**
   * Opens whatever file is at the path now. A file that was removed or replaced is another store,
   * and nobody else reads a log that was removed. A process that continued with its open files
   * would lead beside those that open the files at the path.
   */
  #open(): Opened {
    if (this.#isClosed) throw storeClosed();
    const files = filesAt(this.path);
    const opened = this.#opened;
    if (opened !== undefined && opened.files.main !== files.main && opened.files.log === files.log) throw this.#foreignLog();
    this.#foreignLogSinceUs = undefined;
    if (opened !== undefined && isSame(opened.files, files)) return opened;
    this.#disconnect();
    this.#opened = this.#connectTo(files.main);
    return this.#opened;
  }

  /** The error while the log of the former file is still at its path. */
  #foreignLog(): StoreError {
    const nowUs = this.#host.nowUs();
    this.#foreignLogSinceUs ??= nowUs;
    return nowUs - this.#foreignLogSinceUs < LOG_REMOVAL_US ? logNotYetRemoved(this.path) : foreignLog(this.path);
  }

  #connectTo(before: string | undefined): Opened {
    if (before === undefined) createPrivate(this.path);
    const connection = this.#connect(this.path);
    try {
      const { main } = filesAt(this.path);
      // The file that was opened may already have been replaced.
      if (main === undefined || (before !== undefined && before !== main)) throw replacedAtOpening(this.path);
      checkVersion(connection);
      prepare(connection, this.path);
      this.#openings += 1;
      this.#isDurable = true;
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

  /**
   * Copies the log into the file, without waiting for anybody. False if that has failed: the file
   * may have to grow, and the disk is full.
   */
  #checkpoint(): boolean {
    try {
      this.#open().connection.exec(CHECKPOINT);
      return true;
    } catch {
      return false;
    }
  }

  #rollback(connection: Connection): void {
    try {
      connection.exec('ROLLBACK');
    } catch {
      // Either SQLite rolled back by itself, or the transaction is open and keeps the file locked.
      this.#disconnect();
    }
  }

  #disconnect(): void {
    this.#opened?.connection.close();
    this.#opened = undefined;
  }

  /** Must run before the transaction begins: SQLite ignores the pragma inside one. */
  #setDurable(connection: Connection, durable: boolean): void {
    if (durable === this.#isDurable) return;
    connection.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
    this.#isDurable = durable;
  }
}

function commit(connection: Connection): void {
  try {
    connection.exec('COMMIT');
  } catch (error) {
    throw commitWroteNothing(error) ? error : new CommitFailure(error);
  }
}

/**
 * Never opens the files: closing any descriptor of a file releases all POSIX locks that the process
 * has on it, which are SQLite's locks.
 */
function filesAt(path: string): Files {
  return { main: inodeOf(path), log: inodeOf(`${path}-wal`), index: inodeOf(`${path}-shm`) };
}

function inodeOf(path: string): string | undefined {
  const stats = statsOf(path);
  return stats && `${stats.dev} ${stats.ino}`;
}

function isSame(one: Files, other: Files): boolean {
  return one.main === other.main && one.log === other.log && one.index === other.index;
}
