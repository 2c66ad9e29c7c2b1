/**
 * Keeps a member's vote in a file with two slots, which are written alternately, each with a number
 * and a checksum. A write that a crash interrupts damages only the slot that it writes, never the
 * previous one. So the file always holds the vote that was saved last, or the one that was being
 * saved.
 *
 * It withstands a torn write. It does not withstand a disk that loses acknowledged writes, nor a
 * second process or worker thread that uses the same file. Within one thread, a file is open once.
 */

import { constants } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { IncumbentError } from '@incumbent/core';
import { invalidText } from '@incumbent/core/adapter';
import { errorCode } from '@incumbent/network';
import { readVote, type Vote } from './quorum/message.ts';
import type { DurableStorage } from './storage.ts';

const MAGIC = Buffer.alloc(8, 'IncVote1');
/** One page each, so that one write to a disk does not touch the other slot. */
const SLOT_BYTES = 4_096;
const NUMBER_AT = MAGIC.length;
const LENGTH_AT = NUMBER_AT + 8;
const BODY_AT = LENGTH_AT + 2;
/** Room for the ids of 15 members, of 128 characters each. */
const MAX_BODY_BYTES = 3_072;

/**
 * Opening does not follow a symbolic link: an attacker may have placed one so that this process
 * overwrites another file. Windows has no such flag.
 */
const EXISTING: number = constants.O_RDWR | (constants.O_NOFOLLOW ?? 0);
const OWNER_ONLY = 0o600;

/** Votes are numbered from 0. Only a damaged file can hold the last number. */
const MAX_NUMBER = 2n ** 64n - 1n;

interface Slot {
  readonly number: bigint;
  /** The vote in this slot. Undefined: the slot was written when the file was created. */
  readonly vote: Vote | undefined;
}

/**
 * The real paths of the files that are open in this thread. Two elections that wrote the same file
 * would overwrite each other's votes, because each counts only its own writes.
 */
const openPaths = new Set<string>();

/**
 * Creates the storage for one election of one member. `load` creates the file with the mode 0600 if
 * it does not exist, but not its folder. What `load` returns is durable.
 *
 * `load` rejects with `CORRUPT` if neither slot can be read, or the file was truncated, because a
 * member must not forget its vote. It rejects with `INVALID_OPTION` if the file is open in this
 * process: from the start of a `load`, unless that rejects, until `close` has resolved. The member
 * closes it when it closes, or when its start fails; if the disk hangs, the file stays open until
 * the last write has ended. `load` and `save` reject with the errors of the file system, which name
 * the file or its folder: `ELOOP` if the path is a symbolic link, `ENOSPC` if the disk is full.
 *
 * @throws `INVALID_OPTION` if `path` is no path.
 */
export function voteFile(path: string): DurableStorage<Vote> {
  if (typeof path !== 'string' || path === '') throw invalidText('path', path, 'the path of a file');
  return new VoteFile(path);
}

class VoteFile implements DurableStorage<Vote> {
  readonly #path: string;
  /** What this file has put into `openPaths`. */
  #openPath: string | undefined;
  #file: FileHandle | undefined;
  #number = 0n;

  constructor(path: string) {
    this.#path = path;
  }

  async load(): Promise<Vote | undefined> {
    const openPath = await withPath(this.#path, realPathOf(this.#path));
    if (openPaths.has(openPath))
      throw invalidText('path', this.#path, 'a file that is not open in this process: use one file for each election of each member');
    openPaths.add(openPath);
    this.#openPath = openPath;
    try {
      return await withPath(this.#path, this.#load());
    } catch (error) {
      await this.close().catch(() => {});
      throw error;
    }
  }

  save(vote: Vote): Promise<void> {
    return withPath(this.#path, this.#save(vote));
  }

  async close(): Promise<void> {
    const [file, openPath] = [this.#file, this.#openPath];
    this.#file = undefined;
    this.#openPath = undefined;
    try {
      // Resolves after a write that is under way, which must not follow those of the next file.
      await file?.close();
    } finally {
      if (openPath !== undefined) openPaths.delete(openPath);
    }
  }

  async #load(): Promise<Vote | undefined> {
    const file = await openOrMake(this.#path);
    this.#file = file;
    await syncFolder(this.#path);
    const bytes = Buffer.alloc(2 * SLOT_BYTES);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    // The file was created in its full length. If it is shorter now, the newer vote may be gone.
    const latest = bytesRead < bytes.length ? undefined : this.#latestIn(bytes);
    if (latest === undefined || latest.number === MAX_NUMBER) throw corrupt(this.#path);
    this.#number = latest.number;
    if (latest.vote === undefined) return undefined;
    // The vote may be in the page cache only: the process that wrote it may have died before the
    // vote reached the disk. Then the disk has only the previous vote, in the other slot, and this
    // slot must reach the disk before the next save writes to the other one.
    await file.datasync();
    // If the former process failed to sync this slot, the system may consider it written, although
    // it is not. This member is about to act on the vote, so it saves the vote again.
    await this.#save(latest.vote);
    return latest.vote;
  }

  async #save(vote: Vote): Promise<void> {
    if (this.#file === undefined) throw new TypeError('the vote file must be loaded before it is saved to');
    const number = this.#number + 1n;
    const bytes = writeSlot({ number, vote });
    const { bytesWritten } = await this.#file.write(bytes, 0, bytes.length, placeOf(number));
    if (bytesWritten !== bytes.length) throw new Error(`only ${bytesWritten} of ${bytes.length} bytes were written to ${this.#path}`);
    await this.#file.datasync();
    this.#number = number;
  }

  #latestIn(bytes: Buffer): Slot | undefined {
    try {
      return latestOf([readSlot(bytes.subarray(0, SLOT_BYTES)), readSlot(bytes.subarray(SLOT_BYTES))]);
    } catch (cause) {
      throw corrupt(this.#path, cause);
    }
  }
}

/** Names the file in errors of open files, such as a full disk: Node names no file in them. */
async function withPath<T>(path: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    const code = errorCode(error);
    if (!(error instanceof Error) || error instanceof IncumbentError || code === undefined || 'path' in error) throw error;
    throw Object.assign(new Error(`the vote file ${path}: ${error.message}`, { cause: error }), { code, path });
  }
}

function corrupt(path: string, cause?: unknown): IncumbentError {
  const message = `the vote in ${path} cannot be read: a member that forgets it may vote twice`;
  return new IncumbentError('CORRUPT', message, { details: { file: path }, ...(cause === undefined ? {} : { cause }) });
}

/** The same for all paths that lead to one file, except hard links. The file may not exist yet. */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  return join(await realpath(dirname(path)), basename(path));
}

function placeOf(number: bigint): number {
  return number % 2n === 0n ? 0 : SLOT_BYTES;
}

async function openOrMake(path: string): Promise<FileHandle> {
  try {
    return await open(path, EXISTING);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  await make(path);
  return open(path, EXISTING);
}

/** Creates the file atomically, with two readable slots. */
async function make(path: string): Promise<void> {
  const bytes = Buffer.alloc(2 * SLOT_BYTES);
  for (const number of [0n, 1n]) writeSlot({ number, vote: undefined }).copy(bytes, placeOf(number));
  const made = `${path}.new`;
  // A crash may have left this file, or an attacker may have placed it. It is not reused.
  await rm(made, { force: true });
  await using file = await open(made, 'wx', OWNER_ONLY);
  await file.writeFile(bytes);
  await file.sync();
  await rename(made, path);
}

/**
 * Makes the file's name durable. The process that created the file may have died before the disk
 * had its name. Windows refuses to sync a folder (`EPERM`): its file system logs changes of names.
 */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } catch (error) {
    if (errorCode(error) !== 'EPERM') throw error;
  }
}

function latestOf(slots: readonly (Slot | undefined)[]): Slot | undefined {
  return slots.reduce(
    (latest, slot) => (latest === undefined || (slot !== undefined && slot.number > latest.number) ? slot : latest),
    undefined,
  );
}

function writeSlot({ number, vote }: Slot): Buffer {
  const body = Buffer.from(vote === undefined ? '' : JSON.stringify({ ...vote, term: String(vote.term) }));
  if (body.length > MAX_BODY_BYTES) throw new RangeError(`a vote of ${body.length} bytes is longer than ${MAX_BODY_BYTES}`);
  const bytes = Buffer.alloc(BODY_AT + body.length + 4);
  MAGIC.copy(bytes);
  bytes.writeBigUInt64BE(number, NUMBER_AT);
  bytes.writeUInt16BE(body.length, LENGTH_AT);
  body.copy(bytes, BODY_AT);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, -4)), bytes.length - 4);
  return bytes;
}

/** Reads one slot. Undefined if a write was interrupted, or if another program wrote the slot. */
function readSlot(bytes: Buffer): Slot | undefined {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const bodyBytes = bytes.readUInt16BE(LENGTH_AT);
  if (bodyBytes > MAX_BODY_BYTES) return undefined;
  const end = BODY_AT + bodyBytes;
  if (bytes.readUInt32BE(end) !== crc32(bytes.subarray(0, end))) return undefined;
  const number = bytes.readBigUInt64BE(NUMBER_AT);
  return { number, vote: bodyBytes === 0 ? undefined : readBody(bytes.subarray(BODY_AT, end).toString()) };
}

/** Throws `CORRUPT` if the text is not a vote although its checksum is right. */
function readBody(text: string): Vote {
  const data = parse(text);
  const isRecord =
    typeof data === 'object' && data !== null && 'term' in data && typeof data.term === 'string' && /^\d{1,19}$/.test(data.term);
  return readVote(isRecord ? { ...data, term: BigInt(String(data.term)) } : undefined);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
