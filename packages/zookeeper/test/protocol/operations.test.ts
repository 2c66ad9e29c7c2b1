/** Operations, compared with the bytes of a real ZooKeeper 3.8.0, and damaged answers. */

import { mayRefuse } from '@incumbent/test-support/fuzz';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  ANY_VERSION,
  create,
  exists,
  getChildren,
  getData,
  remove,
  setData,
  sync,
  OPEN,
  readStat,
  writeStat,
  type Stat,
} from '../../src/protocol/nodes.ts';
import { readWelcome, writeHello } from '../../src/protocol/hello.ts';
import { readHeader } from '../../src/protocol/frame.ts';
import { MalformedRecord, Reader, Writer } from '../../src/protocol/jute.ts';
import { multi } from '../../src/protocol/multi.ts';
import type { Operation } from '../../src/protocol/operation.ts';
import { addWatch, readEvent, removeWatch } from '../../src/protocol/watches.ts';
import { bytes, hex, int32, stat, text } from './records.ts';

const SESSION = 72058384849567754n;
const PASSWORD = '488419d96b0f8410645d07e8628a9839';
const STAT =
  '0000000000000029000000000000002b000001a1fed18e56000001a1fed18e6200000001000000010000000000000000000000000000000100000001000000000000002a';

const node: Stat = {
  czxid: 41n,
  mzxid: 43n,
  version: 1,
  cversion: 1,
  ephemeralOwner: 0n,
  dataLength: 1,
  numChildren: 1,
  pzxid: 42n,
};

const data = new TextEncoder().encode('z');

/** The bytes after the header. */
function encoded<Request>(operation: Operation<Request, unknown>, request: Request): string {
  const writer = new Writer();
  operation.encode(writer, request);
  return Buffer.from(writer.finish()).toString('hex');
}

describe('the bytes that a real server accepted', () => {
  it('are a hello, for a new session and for one to take over', () => {
    const fresh = { identity: undefined, timeoutMs: 4_000, lastZxid: 0n, auths: [] };
    const zeros = '0'.repeat(32);
    expect(Buffer.from(writeHello(fresh)).toString('hex')).toBe(`00000000000000000000000000000fa0${'0'.repeat(16)}00000010${zeros}00`);
    const again = { ...fresh, identity: { id: SESSION, password: hex(PASSWORD) } };
    expect(Buffer.from(writeHello(again)).toString('hex')).toBe(`00000000000000000000000000000fa0010000b8200c000a00000010${PASSWORD}00`);
  });

  it('are every operation', () => {
    const anyone = '000000010000001f00000005776f726c6400000006616e796f6e65';
    expect(encoded(create, { path: '/h/q-', data: new TextEncoder().encode('y'), acls: OPEN, mode: 'ephemeralSequential' })).toBe(
      `000000052f682f712d0000000179${anyone}00000003`,
    );
    expect(encoded(setData, { path: '/h', data, version: 0 })).toBe('000000022f68000000017a00000000');
    expect(encoded(remove, { path: '/h', version: ANY_VERSION })).toBe('000000022f68ffffffff');
    for (const read of [getData, getChildren]) expect(encoded<{ path: string }>(read, { path: '/h' })).toBe('000000022f6800');
    expect(encoded(exists, { path: '/h/n', watch: true })).toBe('000000042f682f6e01');
    expect(encoded(sync, '/')).toBe('000000012f');
    expect(encoded(addWatch, { path: '/h', mode: 'tree' })).toBe('000000022f6800000001');
    expect(encoded(removeWatch, '/h')).toBe('000000022f6800000003');
  });

  it('are a multi', () => {
    const made = { path: '/h/m', data: new TextEncoder().encode('m'), acls: OPEN, mode: 'ephemeral' } as const;
    const parts = [
      { check: { path: '/h', version: 1 } },
      { create: made },
      { setData: { path: '/h', data: new TextEncoder().encode('k'), version: 1 } },
      { delete: { path: '/h/m', version: 0 } },
    ];
    expect(encoded(multi, parts)).toBe(
      '0000000d00ffffffff000000022f68000000010000000f00ffffffff000000042f682f6d000000016d000000010000001f00000005776f726c6400000006616e796f6e65' +
        '000000010000000500ffffffff000000022f68000000016b000000010000000200ffffffff000000042f682f6d00000000ffffffff01ffffffff',
    );
  });
});

describe('the bytes that a real server answered', () => {
  it('are a welcome, or the answer for an unknown session', () => {
    expect(readWelcome(hex(`0000000000000fa0010000b8200c000a00000010${PASSWORD}00`))).toEqual({
      timeoutMs: 4_000,
      identity: { id: SESSION, password: hex(PASSWORD) },
      readOnly: false,
    });
    expect(readWelcome(hex('0000000000000000000000000000000000000010'.padEnd(74, '0'))).timeoutMs).toBe(0);
  });

  it('are a header and a node', () => {
    const reader = new Reader(hex(`00000005000000000000002b00000000000000017a${STAT}`));
    expect(readHeader(reader)).toEqual({ xid: 5, zxid: 43n, code: 0 });
    expect(getData.decode(reader)).toEqual({ data, stat: node });
    expect(readHeader(new Reader(hex('00000007000000000000002bffffff9b'))).code).toBe(-101);
  });

  it('are the names of children', () => {
    const answer = getChildren.decode(new Reader(hex(`000000010000000c712d30303030303030303030${STAT}`)));
    expect(answer).toEqual({ children: ['q-0000000000'], stat: node });
  });

  it('are a multi that succeeded, in which the server left out the stat of a created node', () => {
    const digits =
      '0000000d0000000000000000010000000000000000042f682f6d0000000500000000000000000000000029000000000000002c000001a1fed18e56000001a1fed18e6b' +
      '00000002000000020000000000000000000000000000000100000002000000000000002c000000020000000000ffffffff01ffffffff';
    const set = { ...node, mzxid: 44n, version: 2, cversion: 2, numChildren: 2, pzxid: 44n };
    expect(multi.decode(new Reader(hex(digits)))).toEqual({ done: true, parts: [{}, { path: '/h/m' }, { stat: set }, {}] });
  });

  it('are a multi that failed, with the reason', () => {
    const digits = 'ffffffff000000000000000000ffffffff00ffffff92ffffff92ffffffff00fffffffefffffffeffffffff01ffffffff';
    expect(multi.decode(new Reader(hex(digits)))).toEqual({ done: false, failed: 1, code: -110 });
  });

  it('are events', () => {
    expect(readEvent(new Reader(hex('0000000300000003000000022f68')))).toEqual({ path: '/h', kind: 'dataChanged' });
  });
});

describe('an answer', () => {
  it('is read as a server wrote it', () => {
    fc.assert(
      fc.property(stat, bytes, text, fc.array(text), (one, value, path, children) => {
        const read = (writer: Writer): Reader => new Reader(writer.finish());
        expect(readStat(read(writeStat(new Writer(), one)))).toEqual(one);
        expect(create.decode(read(writeStat(new Writer().string(path), one)))).toEqual({ path, stat: one });
        expect(getData.decode(read(writeStat(new Writer().buffer(value), one)))).toEqual({ data: value, stat: one });
        const listed = new Writer().vector(children, (writer, name) => writer.string(name));
        expect(getChildren.decode(read(writeStat(listed, one)))).toEqual({ children, stat: one });
        const parts = writeStat(new Writer().int(15).bool(false).int(0).string(path), one).int(-1).bool(true).int(-1);
        expect(multi.decode(read(parts))).toEqual({ done: true, parts: [{ path, stat: one }] });
      }),
    );
  });

  it('with an unknown kind of event is an event', () => {
    fc.assert(
      fc.property(int32, text, (type, path) => {
        const event = readEvent(new Reader(new Writer().int(type).int(3).string(path).finish()));
        expect(event.path).toBe(path);
        expect(event.kind).toBe(['other', 'created', 'deleted', 'dataChanged', 'childrenChanged'][Math.max(type, 0)] ?? 'other');
      }),
    );
  });

  it('to a multi is malformed if parts failed without a reason', () => {
    const answer = new Writer().int(-1).bool(false).int(0).int(0).int(-1).bool(true).int(-1);
    expect(() => multi.decode(new Reader(answer.finish()))).toThrow(MalformedRecord);
  });

  it('to a multi is malformed if a part has an unknown type', () => {
    const answer = new Writer().int(4).bool(false).int(0).int(-1).bool(true).int(-1);
    expect(() => multi.decode(new Reader(answer.finish()))).toThrow(MalformedRecord);
  });

  it('is read or malformed, whatever the bytes are', () => {
    const decoders = [create, getData, getChildren, setData, exists, sync, multi, remove, addWatch].map(
      ({ decode }) =>
        (input: Uint8Array): unknown =>
          decode(new Reader(input)),
    );
    const all = [
      ...decoders,
      readWelcome,
      (input: Uint8Array) => readEvent(new Reader(input)),
      (input: Uint8Array) => readHeader(new Reader(input)),
    ];
    // Headers of parts among the noise, so that more than the first few bytes are looked at.
    const word = fc.constantFrom('ffffffff', '00000000', '00000001', '0000000d', '0000000f', '00', '01', '7fffffff');
    const noise = fc.oneof(
      fc.uint8Array(),
      fc.array(word, { maxLength: 60 }).map((words) => hex(words.join(''))),
    );
    fc.assert(
      fc.property(noise, fc.constantFrom(...all), (input, decode) => {
        mayRefuse(
          (error) => error instanceof MalformedRecord,
          () => decode(input),
        );
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('the answer to a hello', () => {
  it.each([
    ['another version of the protocol', new Writer().int(1).int(4_000).long(1n).buffer(hex(PASSWORD))],
    ['no session', new Writer().int(0).int(4_000).long(0n).buffer(hex(PASSWORD))],
    ['a password of another length', new Writer().int(0).int(4_000).long(1n).buffer(hex('00'))],
    ['too few bytes', new Writer().int(0).int(4_000)],
  ])('with %s is malformed', (_, answer) => {
    expect(() => readWelcome(answer.finish())).toThrow(MalformedRecord);
  });

  it('of a server before 3.4 says nothing about read-only mode', () => {
    expect(readWelcome(new Writer().int(0).int(4_000).long(1n).buffer(hex(PASSWORD)).finish()).readOnly).toBe(false);
  });
});
