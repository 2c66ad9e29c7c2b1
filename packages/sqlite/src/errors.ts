/**
 * Every error of this package, each with its code and its outcome. No other file maps an error of
 * SQLite or of the file system to a code.
 *
 * A transaction that fails before its commit certainly changed nothing. The numeric codes are those
 * of sqlite.org/rescode.html.
 */

import { dirname } from 'node:path';

import type { LeaseId, Outcome, StoreErrorCode } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';

type Verdict = readonly [code: StoreErrorCode, outcome: Outcome, why?: string];

const Code = {
  perm: 3,
  busy: 5,
  locked: 6,
  readonly: 8,
  ioerr: 10,
  corrupt: 11,
  full: 13,
  cantopen: 14,
  protocol: 15,
  toobig: 18,
  auth: 23,
  notadb: 26,
} as const;

/**
 * A commit that failed although it may have happened: its record can be in the log, where SQLite
 * finds it after a crash.
 */
export class CommitFailure extends Error {
  constructor(cause: unknown) {
    super('the commit failed', { cause });
    this.name = 'CommitFailure';
  }
}

/** A read took so long that leases may have ended meanwhile, so its result cannot be used. */
export class SlowRead extends Error {
  constructor() {
    super('the read took too long');
    this.name = 'SlowRead';
  }
}

/** Whether trying again can help: another process holds the file, or a read was too slow. */
export function isBusy(error: unknown): boolean {
  if (error instanceof SlowRead) return true;
  const code = codeOf(error);
  // SQLITE_PROTOCOL: SQLite gave up after losing the race for the log's locks several times.
  return code === Code.busy || code === Code.locked || code === Code.protocol;
}

/** Whether the disk is full, or the file has its largest size. Nothing was changed then. */
export function isFull(error: unknown): boolean {
  return codeOf(error) === Code.full;
}

/** Whether a commit that failed with this error certainly wrote nothing to the log. */
export function commitWroteNothing(error: unknown): boolean {
  return isBusy(error) || isFull(error);
}

/** Maps any error of a call on the file `path`. A `StoreError` is returned as it is. */
export function toStoreError(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  const commit = error instanceof CommitFailure;
  const cause = commit ? error.cause : error;
  const [code, outcome, why] = verdictOn(cause);
  return new StoreError(code, commit ? 'unknown' : outcome, `sqlite: ${path}: ${why ?? messageOf(cause)}`, {
    cause,
    details: { file: path },
  });
}

function verdictOn(error: unknown): Verdict {
  if (error instanceof SlowRead) return ['UNAVAILABLE', 'notSent'];
  switch (codeOf(error)) {
    case Code.busy:
    case Code.locked:
    case Code.protocol:
      return ['UNAVAILABLE', 'notSent', 'it is locked by another process'];
    case Code.perm:
    case Code.readonly:
    case Code.auth:
      return ['PERMISSION_DENIED', 'refused', `it cannot be written: ${messageOf(error)}`];
    case Code.cantopen:
      return ['UNREACHABLE', 'notSent', 'it cannot be opened'];
    case Code.corrupt:
      return [
        'CORRUPT',
        'refused',
        'it is damaged: restore it, or remove it and its -wal and -shm (the terms then start again from 1: set minTerm)',
      ];
    case Code.notadb:
      return ['UNSUPPORTED', 'refused', 'it is not a SQLite database'];
    case Code.full:
      // A retry may succeed: space may become free.
      return ['UNAVAILABLE', 'notSent', 'the disk is full'];
    case Code.toobig:
      return ['TOO_LARGE', 'refused'];
    case Code.ioerr:
      return ['STORE_FAILED', 'notSent', `the disk failed: ${messageOf(error)}`];
    default:
      return ['STORE_FAILED', 'refused'];
  }
}

/** Whether a watch ends with this error. After any other error it tries again. */
export function endsWatch({ code }: StoreError): boolean {
  return code === 'PERMISSION_DENIED' || code === 'UNSUPPORTED' || code === 'CORRUPT' || code === 'STORE_CLOSED';
}

// Calls.

/** The file stayed busy until the call's timeout. */
export function busyError(path: string, waitedMs: number, cause: unknown): StoreError {
  const message =
    cause instanceof SlowRead
      ? `sqlite: ${path}: each read in ${Math.round(waitedMs)} ms took longer than a second: is the disk slow?`
      : `sqlite: ${path} was locked by other processes for ${Math.round(waitedMs)} ms. ` +
        'A process that is stopped inside a transaction keeps the lock until it continues or dies';
  return new StoreError('UNAVAILABLE', 'notSent', message, { cause, details: { file: path } });
}

/** Other calls of this process ran until the call's timeout. */
export function crowdedError(path: string, waitedMs: number): StoreError {
  const message = `sqlite: ${path}: earlier calls of this process took the ${Math.round(waitedMs)} ms that this call had`;
  return new StoreError('UNAVAILABLE', 'notSent', message, { details: { file: path } });
}

/** Each call runs in one synchronous step, so a call that closing interrupts has not begun. */
export function storeClosed(): StoreError {
  return new StoreError('STORE_CLOSED', 'notSent', 'the sqlite store was closed');
}

export function tooLarge(what: string): StoreError {
  return new StoreError('TOO_LARGE', 'refused', `sqlite: ${what}`);
}

export function leaseGone(id: LeaseId): StoreError {
  return new StoreError('LEASE_EXPIRED', 'refused', `sqlite: there is no lease ${id}`);
}

export function keyTaken(key: string, lease: LeaseId): StoreError {
  return new StoreError('STORE_FAILED', 'refused', `sqlite: ${key} exists, and not under the lease ${lease}`);
}

// The file, and where it is.

/** The error for a file beside the log of another file. SQLite would read the two together. */
export function foreignLog(path: string): StoreError {
  const message =
    `sqlite: ${path} was replaced, or removed, and the former file's log was left beside it. ` +
    'Stop all processes that use it, remove its -wal and -shm, and start them again';
  return new StoreError('CORRUPT', 'refused', message, { details: { file: path } });
}

/**
 * The same, shortly after the file was replaced or removed. Removing the file, its log and its -shm
 * takes three steps, and a call may run between them.
 */
export function logNotYetRemoved(path: string): StoreError {
  const message = `sqlite: ${path} was replaced, or removed, and the former file's log is still beside it`;
  return new StoreError('UNAVAILABLE', 'notSent', message, { details: { file: path } });
}

export function replacedAtOpening(path: string): StoreError {
  const message = `sqlite: ${path} was removed or replaced while it was being opened`;
  return new StoreError('UNAVAILABLE', 'notSent', message, { details: { file: path } });
}

export function folderUnreachable(file: string, cause: unknown): StoreError {
  return new StoreError('UNREACHABLE', 'notSent', `sqlite: the folder of ${file} cannot be reached`, { cause });
}

/** The error of a `stat` that does not tell whether there is a file. */
export function fileUnreachable(path: string, cause: unknown): StoreError {
  if (hasErrno(cause, 'EACCES')) return notWritable(path, cause);
  return new StoreError('UNREACHABLE', 'notSent', `sqlite: ${path} cannot be reached`, { cause, details: { file: path } });
}

export function notWritable(path: string, cause: unknown): StoreError {
  const grant = `chmod u+rw ${path} && chmod u+rwx ${dirname(path)} (or chown, if another user owns them)`;
  const message = `sqlite: ${path} cannot be written: the file and its folder must both be writable; to grant it: ${grant}`;
  return new StoreError('PERMISSION_DENIED', 'refused', message, { cause, details: { file: path, right: 'write', grant } });
}

/**
 * The error for a file that cannot hold an election. `why` continues the sentence that the path
 * begins.
 */
export function unsuitableFile(path: string, why: string): StoreError {
  return new StoreError('UNSUPPORTED', 'refused', `sqlite: ${path} ${why}`, { details: { file: path } });
}

/** The error for a file in which another machine has leases. */
export function sharedFile(path: string, machine: string): StoreError {
  const message =
    `sqlite: ${path} is in use by another machine (${machine}). If it was moved here, and nobody there uses it any more, ` +
    'open it once with the option moved: true';
  return new StoreError('SHARED_FILE', 'refused', message, { details: { file: path, machine } });
}

export function unexpectedColumn(name: string, expected: string): StoreError {
  return new StoreError('CORRUPT', 'refused', `sqlite: the column ${name} does not hold ${expected}`);
}

// SQLite itself.

export function noSqlite(cause: unknown): StoreError {
  const message = `sqlite: Node ${process.versions.node} cannot load node:sqlite. Use Node 22.23, 24.15, 26 or newer`;
  return new StoreError('UNSUPPORTED', 'refused', message, { cause });
}

export function unsafeVersion(version: string): StoreError {
  const message =
    `sqlite: this Node has SQLite ${version}, which can lose what it has acknowledged when several processes write (the WAL-reset bug). ` +
    'Use Node 22.23, 24.15, 26 or newer';
  return new StoreError('UNSUPPORTED', 'refused', message, { details: { version } });
}

/** Whether this is an error of the file system with this code, such as `ENOENT`. */
export function hasErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The primary result code, which is the lowest byte of an extended one. */
function codeOf(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}
