/**
 * A process that saves a vote one byte at a time and stops for good after the given number of
 * bytes, so that it can be killed then. It reports what it loaded before and, if it gets that far,
 * that the vote is saved.
 */

import { writeSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { voteFile } from '@incumbent/peer';
import { emit } from '@incumbent/test-support/child';

const [path = '', memberId = '', bytes = '0'] = process.argv.slice(2);
const stopAfter = Number(bytes);

const file = voteFile(path);
const before = await file.load();
const term = (before?.term ?? 0n) + 1n;
emit('loaded', { term: before?.term ?? 0n, votedFor: before?.votedFor });
await writeByteByByte();
await file.save({ memberId, term, votedFor: term % 2n === 0n ? memberId : undefined });
emit('saved', { term });
await file.close();

/** Applies to every write of this process from now on. */
async function writeByteByByte(): Promise<void> {
  await using any = await open(path);
  const handles: Pick<FileHandle, 'write'> = Object.getPrototypeOf(any);
  const write = async function (this: FileHandle, buffer: Uint8Array, offset: number, length: number, position: number) {
    for (let written = 0; written < length; written += 1) {
      if (written === stopAfter) standStill();
      writeSync(this.fd, buffer, offset + written, 1, position + written);
    }
    if (length === stopAfter) standStill();
    return { bytesWritten: length, buffer };
  };
  Object.assign(handles, { write });
}

function standStill(): never {
  emit('standing', { bytes: stopAfter });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  throw new Error('nobody has killed it');
}
