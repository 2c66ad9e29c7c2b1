/** Messages of a PostgreSQL server. */

/** A message: its type, its length, and its content. */
export function message(type: string, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
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

export const READY: Buffer = message('Z', Buffer.from('I'));
/** The login succeeds, with process id 1, and a statement may follow. */
export const GREETING: Buffer = Buffer.concat([message('R', int32(0)), message('K', int32(1), int32(1)), READY]);
/** A statement has ended. */
export const COMPLETE: Buffer = message('C', Buffer.from('SELECT\0'));

/** The names and types of columns of text. */
export function description(columns: number): Buffer {
  const column = Buffer.concat([Buffer.from('c\0'), int32(0), int16(0), int32(25), int16(-1), int32(-1), int16(0)]);
  return message('T', int16(columns), ...Array.from({ length: columns }, () => column));
}

/** A row. */
export function row(...values: readonly string[]): Buffer {
  return message('D', int16(values.length), ...values.flatMap((value) => [int32(Buffer.byteLength(value)), Buffer.from(value)]));
}

/** The server refuses the statement, or ends the connection. */
export function refusal(severity: 'ERROR' | 'FATAL', state: string): Buffer {
  return message('E', Buffer.from(`S${severity}\0C${state}\0Mno\0\0`));
}
