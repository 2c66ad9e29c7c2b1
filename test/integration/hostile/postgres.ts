/** A PostgreSQL server that answers with too much data. */

import { LONG_BYTES, many, oneByOne, pour, serve, TINY_BYTES, type Attack, type HostileServer } from './server.ts';

/** A message: its type, its length, and its content. */
function message(type: string, ...parts: readonly (string | Uint8Array)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

const READY = message('Z', 'I');
const COMPLETE = message('C', 'SELECT\0');
const PROCESS_ID = 4_711;
const GREETING = Buffer.concat([message('R', int32(0)), message('K', int32(PROCESS_ID), int32(1)), READY]);

/** A column of text. */
const COLUMN = Buffer.concat([Buffer.from('c\0'), int32(0), int16(0), int32(25), int16(-1), int32(-1), int16(0)]);

function description(columns: number): Buffer {
  return message('T', int16(columns), ...Array.from({ length: columns }, () => COLUMN));
}

function row(...values: readonly string[]): Buffer {
  return message('D', int16(values.length), ...values.flatMap((value) => [int32(Buffer.byteLength(value)), value]));
}

function answer(columns: number, ...rows: readonly Buffer[]): Buffer {
  return Buffer.concat([description(columns), ...rows, COMPLETE, READY]);
}

/** The columns of the function `read`. */
const READ_COLUMNS = 7;

/** The right answers of a server with an empty store. The first match counts. */
const ANSWERS: readonly (readonly [statement: RegExp, answer: Buffer])[] = [
  [/^SELECT pg_is_in_recovery\(\)/, answer(4, row('f', '150018', '1', '7'))],
  [/\.version\(\)/, answer(1, row('2'))],
  [/^SELECT current_setting\('fsync'\)/, answer(3, row('on', 'f', '0'))],
  [/\.open_namespace\(/, answer(1, row('incumbent_hostile'))],
  [/^SELECT pg_backend_pid\(\)/, answer(1, row(String(PROCESS_ID)))],
  [/^LISTEN /, Buffer.concat([message('C', 'LISTEN\0'), READY])],
  [/\.probe\(/, answer(2, message('D', int16(2), int32(1), '1', int32(-1)))],
  [/\.read\(/, answer(READ_COLUMNS)],
];

/** An entry of a list, as the function `read` returns it. */
function entry(value: string): Buffer {
  return row('1', 'members/a', value, '1', '1', 'lease');
}

/** Rows of empty columns, and the ends of statements, each of which `pg` would keep. */
const TINY = [entry(''), row(''), COMPLETE];

/** A message as text. It must have only bytes that are the same in UTF-8. */
function ascii(bytes: Buffer): string {
  if (bytes.some((byte) => byte > 127)) throw new RangeError('a byte above 127');
  return bytes.toString('latin1');
}

/** Not quite as many bytes as one answer may have. */
const MOST_BYTES = 22 * 2 ** 20;

function* attackOf(attack: Attack, turn: number): Generator<Uint8Array> {
  switch (attack) {
    case 'endless before authentication':
      // Parameters of the server, which may come before the login has succeeded.
      yield* many(ascii(message('S', `a\0${'b'.repeat(100)}\0`)));
      return;
    case 'endless after it':
      yield description(6);
      yield* many(ascii(entry('a'.repeat(66))));
      return;
    case 'tiny values':
      yield description(6);
      yield* many(ascii(TINY[turn % TINY.length] ?? COMPLETE), turn % 4 === 0 ? TINY_BYTES : MOST_BYTES);
      yield Buffer.concat([COMPLETE, READY]);
      return;
    case 'endless body':
      for (;;) {
        yield description(6);
        yield Buffer.concat([message('D').subarray(0, 1), int32(LONG_BYTES + 10), int16(1), int32(LONG_BYTES)]);
        yield* many('a', LONG_BYTES);
      }
    case 'one byte at a time':
      yield description(1);
      yield Buffer.concat([message('D').subarray(0, 1), int32(LONG_BYTES + 10), int16(1), int32(LONG_BYTES)]);
      yield* oneByOne(LONG_BYTES);
      return;
    default:
      throw new Error(attack satisfies never);
  }
}

export function hostilePostgres(): Promise<HostileServer> {
  let turns = 0;
  return serve(
    (host) => `postgres://hostile@${host}/hostile`,
    ({ socket, attack }) => {
      let received = Buffer.alloc(0);
      let isGreeted = false;
      const begin = (): void => {
        socket.removeAllListeners('data').resume();
        void pour(socket, attackOf(attack ?? 'endless body', (turns += 1)));
      };
      socket.on('data', (chunk) => {
        received = Buffer.concat([received, Buffer.from(chunk)]);
        if (!isGreeted && received.length >= 4 && received.length >= received.readInt32BE(0)) {
          received = received.subarray(received.readInt32BE(0));
          isGreeted = true;
          if (attack === 'endless before authentication') return begin();
          socket.write(GREETING);
        }
        while (isGreeted && received.length >= 5 && received.length > received.readInt32BE(1)) {
          const end = 1 + received.readInt32BE(1);
          const statement = received.subarray(5, end - 1).toString();
          const isQuery = received[0] === 'Q'.codePointAt(0);
          received = received.subarray(end);
          if (!isQuery) continue;
          if (attack !== undefined && statement.includes('.read(')) return begin();
          socket.write(ANSWERS.find(([pattern]) => pattern.test(statement))?.[1] ?? answer(1));
        }
      });
    },
  );
}
