/** A ZooKeeper server that answers with too much data. */

import { LONG_BYTES, many, oneByOne, pour, serve, TINY_BYTES, type Attack, type HostileServer } from './server.ts';

const Type = { create: [1, 15, 19], exists: [3], children: [12], reads: [4, 12, 22], multi: [14], multiRead: [22] } as const;
const Code = { ok: 0, noNode: -101, nodeExists: -110 } as const;
const NOTIFICATION = -1;
const STAT_BYTES = 68;
/** Elements of one byte each, nearly as many as an answer may have. */
const MOST_VALUES = 120_000;
const TINY = '\0\0\0\x01a';

function ints(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeInt32BE(value, 4 * index);
  return bytes;
}

const frame = (record: Uint8Array): Buffer => Buffer.concat([ints(record.length), record]);
const header = (xid: number, code: number): Buffer => Buffer.concat([ints(xid, 0, 1), ints(code)]);
const reply = (xid: number, code: number, body: Uint8Array = Buffer.alloc(0)): Buffer => frame(Buffer.concat([header(xid, code), body]));

/** Protocol 0, a timeout of 6 s, session 1, a password of 16 bytes, not read-only. */
const WELCOME = frame(Buffer.concat([ints(0, 6_000, 0, 1, 16), Buffer.alloc(16, 7), Buffer.from([0])]));

/** The end of a transaction's results. */
const END = Buffer.concat([ints(-1), Buffer.from([1]), ints(-1)]);
/** One result: there is no such node. */
const ABSENT = Buffer.concat([ints(-1), Buffer.from([0]), ints(Code.noNode, Code.noNode)]);
/** One result, that of a check, and the end. */
const CHECKED = Buffer.concat([ints(13), Buffer.from([0]), ints(0), END]);

/** How many reads a request has: each is a header of 9 bytes, a path and a byte. */
function readsIn(request: Buffer): number {
  let count = 0;
  for (let at = 8; request[at + 4] === 0; at += 9 + 4 + request.readInt32BE(at + 9) + 1) count += 1;
  return count;
}

function politeReply(request: Buffer): Buffer {
  const [xid, type] = [request.readInt32BE(0), request.readInt32BE(4)];
  const is = (types: readonly number[]): boolean => types.includes(type);
  if (is(Type.create)) return reply(xid, Code.nodeExists);
  if (is(Type.exists)) return reply(xid, Code.ok, Buffer.alloc(STAT_BYTES));
  if (is(Type.multi)) return reply(xid, Code.ok, CHECKED);
  if (is(Type.multiRead)) return reply(xid, Code.ok, Buffer.concat([...Array.from({ length: readsIn(request) }, () => ABSENT), END]));
  return reply(xid, is(Type.reads) ? Code.noNode : Code.ok);
}

function* vectorOf(xid: number, count: number, length: number): Generator<Uint8Array> {
  yield Buffer.concat([ints(16 + 4 + length + STAT_BYTES), header(xid, Code.ok), ints(count)]);
}

function* attackOf(attack: Attack, xid: number, turn: number): Generator<Uint8Array> {
  switch (attack) {
    case 'endless before authentication':
      return yield* many(WELCOME.toString('latin1'));
    case 'endless after it': {
      const path = `/${'a'.repeat(16_384)}`;
      const event = Buffer.concat([header(NOTIFICATION, Code.ok), ints(4, 3, path.length), Buffer.from(path)]);
      for (;;) yield frame(event);
    }
    case 'tiny values': {
      if (turn % 3 === 0) {
        yield* vectorOf(xid, TINY_BYTES / TINY.length, TINY_BYTES);
        return yield* many(TINY, TINY_BYTES);
      }
      // In turns, more parts than an answer may have, and nearly as many.
      const count = turn % 3 === 1 ? Math.floor(LONG_BYTES / TINY.length) : MOST_VALUES;
      yield* vectorOf(xid, count, count * TINY.length);
      yield* many(TINY, count * TINY.length);
      return yield Buffer.alloc(STAT_BYTES);
    }
    case 'endless body':
      for (;;) {
        yield* vectorOf(xid, 1, 4 + LONG_BYTES);
        yield ints(LONG_BYTES);
        yield* many('a', LONG_BYTES);
        yield Buffer.alloc(STAT_BYTES);
      }
    case 'one byte at a time':
      yield* vectorOf(xid, 1, 4 + LONG_BYTES);
      return yield* oneByOne(LONG_BYTES);
    default:
      throw new Error(attack satisfies never);
  }
}

export function hostileZookeeper(): Promise<HostileServer> {
  let turns = 0;
  return serve(
    (host) => `zookeeper://${host}/hostile`,
    ({ socket, attack }) => {
      let isWelcome = false;
      let isPouring = false;
      let rest = Buffer.alloc(0);
      const take = (record: Buffer): void => {
        if (isPouring) return;
        const [xid, type] = isWelcome ? [record.readInt32BE(0), record.readInt32BE(4)] : [0, 0];
        const isRead = isWelcome && Type.reads.some((read) => read === type);
        if (attack !== undefined && (isRead || attack === 'endless before authentication')) {
          isPouring = true;
          void pour(socket, attackOf(attack, xid, (turns += 1)));
        } else if (!isWelcome) socket.write(WELCOME);
        else socket.write(politeReply(record));
        isWelcome = true;
      };
      socket.on('data', (chunk: Buffer) => {
        rest = Buffer.concat([rest, chunk]);
        while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
          const end = 4 + rest.readInt32BE(0);
          take(rest.subarray(4, end));
          rest = rest.subarray(end);
        }
      });
    },
  );
}
