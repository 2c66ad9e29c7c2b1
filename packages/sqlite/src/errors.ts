/**
 * What SQLite's errors mean: the only place where they become codes and outcomes, each with its reason. A transaction that fails before its commit
 * certainly changed nothing. The numbers are those of sqlite.org/rescode.html.
 */

import type { Outcome, StoreErrorCode } from '@incumbent/core';
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

/** A commit that failed in a way that may have left it done: its record can stand in the log, and be found there after a crash. */
export class CommitFailure extends Error {
  constructor(cause: unknown) {
    super('the commit failed', { cause });
    this.name = 'CommitFailure';
  }
}

/** What was seen may be wrong: the process was stopped in the midst of looking, or the disk is slow. */
export class LateLook extends Error {
  constructor() {
    super('it took too long to be looked at');
    this.name = 'LateLook';
  }
}

/** Whether somebody else holds the file, or what was seen came too late: another try helps. */
export function isBusy(error: unknown): boolean {
  if (error instanceof LateLook) return true;
  const code = codeOf(error);
  // "Protocol" is a race for the log's locks that SQLite itself gave up.
  return code === Code.busy || code === Code.locked || code === Code.protocol;
}

/** Whether a commit that failed so is certainly not done: nothing of it had got into the log. */
export function leavesNothing(error: unknown): boolean {
  return isBusy(error) || codeOf(error) === Code.full;
}

export function toStoreError(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  const commit = error instanceof CommitFailure;
  const cause = commit ? error.cause : error;
  const [code, outcome, why] = verdictOn(cause);
  const reason = why ?? (cause instanceof Error ? cause.message : String(cause));
  return new StoreError(code, commit ? 'unknown' : outcome, `sqlite: ${path}: ${reason}`, { cause, details: { file: path } });
}

/** Whether a watch can go on after it. */
export function endsWatch({ code }: StoreError): boolean {
  return code === 'PERMISSION_DENIED' || code === 'UNSUPPORTED' || code === 'CORRUPT' || code === 'STORE_CLOSED';
}

export function busyError(path: string, waitedMs: number, cause: unknown): StoreError {
  const message =
    cause instanceof LateLook
      ? `sqlite: ${path}: each look at it in ${Math.round(waitedMs)} ms took longer than a second: is the disk slow?`
      : `sqlite: ${path} was locked by other processes for ${Math.round(waitedMs)} ms. ` +
        'One that is stopped inside a transaction keeps it locked until it goes on or dies';
  return new StoreError('UNAVAILABLE', 'notSent', message, { cause, details: { file: path } });
}

export function crowdedError(path: string, waitedMs: number): StoreError {
  const message = `sqlite: ${path}: the calls of this process before this one took longer than its ${Math.round(waitedMs)} ms`;
  return new StoreError('UNAVAILABLE', 'notSent', message, { details: { file: path } });
}

/** SQLite would read the one file with the other's log. */
export function foreignLog(path: string): StoreError {
  const message =
    `sqlite: ${path} was replaced, or removed, and the former file's log was left beside it. ` +
    'Stop all processes that use it, remove its -wal and -shm, and start them again';
  return new StoreError('CORRUPT', 'refused', message, { details: { file: path } });
}

export function replacedAtOpening(path: string): StoreError {
  const message = `sqlite: ${path} was removed or replaced while it was being opened`;
  return new StoreError('UNAVAILABLE', 'notSent', message, { details: { file: path } });
}

export function storeClosed(): StoreError {
  // A call runs at one instant: one that is cut short by closing has not begun.
  return new StoreError('STORE_CLOSED', 'notSent', 'the sqlite store was closed');
}

function verdictOn(error: unknown): Verdict {
  if (error instanceof LateLook) return ['UNAVAILABLE', 'notSent'];
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
        'it is damaged: restore it, or remove it and its -wal and -shm (the terms then begin anew: set minTerm)',
      ];
    case Code.notadb:
      return ['UNSUPPORTED', 'refused', 'it is no SQLite database'];
    case Code.full:
      // Passing: the space may come back.
      return ['UNAVAILABLE', 'notSent', 'the disk is full'];
    case Code.toobig:
      return ['TOO_LARGE', 'refused'];
    case Code.ioerr:
      return ['STORE_FAILED', 'notSent', `the disk failed: ${messageOf(error)}`];
    default:
      return ['STORE_FAILED', 'refused'];
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The primary code: the extended ones have it in their lowest byte. */
function codeOf(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}
