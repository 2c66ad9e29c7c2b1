/**
 * What the fuzzer feeds to the readers of what a ZooKeeper server says: frames, and jute records of
 * every kind.
 */

import assert from 'node:assert/strict';

import { framesTarget, type FuzzTarget } from '@incumbent/test-support/fuzz';
import { Deframer } from '@incumbent/network';
import fc from 'fast-check';

import { frame, RecordFraming, readHeader } from '../../src/protocol/frame.ts';
import { readWelcome } from '../../src/protocol/hello.ts';
import { MalformedRecord, Reader, Writer } from '../../src/protocol/jute.ts';
import { multiRead, multi } from '../../src/protocol/multi.ts';
import { create, exists, getChildren, getData, setData, sync, readStat, writeStat } from '../../src/protocol/nodes.ts';
import { readEvent } from '../../src/protocol/watches.ts';
import { bytes, int32, int64, stat } from '../protocol/records.ts';

const isMalformed = (error: unknown): boolean => error instanceof MalformedRecord;

const path = fc.constantFrom('/', '/ns', '/ns/elections/e/leader', '/ns/a-0000000001');
const code = fc.constantFrom(0, -101, -103, -110, -2);

/** One part of the answer to several operations at once. */
const part = fc
  .tuple(fc.constantFrom(1, 2, 4, 5, 8, 13, 15, -1), path, stat, bytes, code)
  .map(([type, name, about, data, error]) => (writer: Writer): Writer => {
    writer
      .int(type)
      .bool(false)
      .int(type === -1 ? error : 0);
    switch (type) {
      case 1:
        return writer.string(name);
      case 15:
        return writeStat(writer.string(name), about);
      case 5:
        return writeStat(writer, about);
      case 4:
        return writeStat(writer.buffer(data), about);
      case 8:
        return writer.vector([name, name], (one, child) => one.string(child));
      case -1:
        return writer.int(error);
      default:
        return writer;
    }
  });

const record = fc
  .oneof(
    fc.array(part, { maxLength: 4 }).map((parts) => {
      const writer = new Writer();
      for (const write of parts) write(writer);
      return writer.int(-1).bool(true).int(-1);
    }),
    fc.tuple(bytes, stat).map(([data, about]) => writeStat(new Writer().buffer(data), about)),
    fc.tuple(fc.array(path, { maxLength: 4 }), stat).map(([names, about]) =>
      writeStat(
        new Writer().vector(names, (one, name) => one.string(name)),
        about,
      ),
    ),
    fc.tuple(path, stat).map(([name, about]) => writeStat(new Writer().string(name), about)),
    fc.tuple(int32, int64, code).map(([xid, zxid, error]) => new Writer().int(xid).long(zxid).int(error)),
    fc.tuple(fc.integer({ min: 0, max: 5 }), path).map(([type, name]) => new Writer().int(type).int(3).string(name)),
    fc
      .tuple(int32, int64, fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.boolean())
      .map(([timeoutMs, id, password, readOnly]) => new Writer().int(0).int(timeoutMs).long(id).buffer(password).bool(readOnly)),
  )
  .map((writer) => writer.finish());

const readers: readonly ((reader: Reader) => unknown)[] = [
  ...[create, exists, getChildren, getData, multi, multiRead, setData, sync].map(
    ({ decode }) =>
      (reader: Reader): unknown =>
        decode(reader),
  ),
  readHeader,
  readEvent,
];

function read(reader: (bytes: Uint8Array) => void, input: Uint8Array): void {
  try {
    reader(input);
  } catch (error) {
    if (!isMalformed(error)) throw error;
  }
}

const records: FuzzTarget = {
  name: 'records',
  inputs: record,
  read: (input) => {
    for (const reader of readers) read((bytesOf) => void reader(new Reader(bytesOf)), input);
    read((bytesOf) => {
      const { timeoutMs, identity } = readWelcome(bytesOf);
      if (timeoutMs > 0) assert.equal(identity.password.length, 16);
    }, input);
    read((bytesOf) => {
      const about = readStat(new Reader(bytesOf));
      assert.deepEqual(readStat(new Reader(writeStat(new Writer(), about).finish())), about);
    }, input);
  },
  isRefusal: isMalformed,
};

/**
 * A deframer takes a buffer as long as the record that is announced: short ones let one input try
 * several deframers.
 */
const MAX_BYTES = 2 ** 16;

const frames = framesTarget({
  inputs: fc.array(fc.oneof(record, fc.uint8Array({ maxLength: 20 })), { maxLength: 4 }).map((all) => Buffer.concat(all.map(frame))),
  frame,
  open: () => new Deframer(new RecordFraming(MAX_BYTES)),
  isRefusal: isMalformed,
});

export const targets: readonly FuzzTarget[] = [records, frames];
