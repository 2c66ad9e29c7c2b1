/**
 * What is in a frame: JSON, read with suspicion. A message is plain data with bigints in it, so
 * inside it every string says what it is by its first character: `s` for a string, `n` for a
 * bigint.
 */

/** A message, and the election that it belongs to. */
export interface Packet {
  readonly election: string;
  readonly configuration: string;
  readonly message: unknown;
}

/** Messages are flat: three levels are in use. */
const MAX_DEPTH = 8;
const BIGINT = /^n-?\d{1,40}$/;

/** Throws a `TypeError` for what is no plain data: an algorithm's mistake. */
export function encodePacket({ election, configuration, message }: Packet): Buffer {
  return Buffer.from(JSON.stringify({ election, configuration, message: tagged(message, MAX_DEPTH) }));
}

/** Undefined where these bytes are no packet. */
export function decodePacket(bytes: Uint8Array): Packet | undefined {
  const data = decodeRecord(bytes);
  if (data === undefined) return undefined;
  const { election, configuration, message } = data;
  if (typeof election !== 'string' || typeof configuration !== 'string' || !('message' in data)) return undefined;
  try {
    return { election, configuration, message: untagged(message, MAX_DEPTH) };
  } catch {
    return undefined;
  }
}

/** The object that these bytes are, as JSON in UTF-8; undefined: none. */
export function decodeRecord(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const data: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return isRecord(data) ? data : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(data: unknown): data is Readonly<Record<string, unknown>> {
  return typeof data === 'object' && data !== null && !Array.isArray(data);
}

function tagged(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return `s${value}`;
  if (typeof value === 'bigint') return `n${value}`;
  if (typeof value === 'boolean' || isFinite(value)) return value;
  return within(value, depth, tagged);
}

function untagged(value: unknown, depth: number): unknown {
  if (typeof value === 'string') {
    if (value.startsWith('s')) return value.slice(1);
    if (BIGINT.test(value)) return BigInt(value.slice(1));
  }
  // JSON can say -0, and is never made to.
  if (value === 0) return 0;
  if (typeof value === 'boolean' || isFinite(value)) return value;
  return within(value, depth, untagged);
}

function isFinite(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value);
}

/** What is in a list or an object, each turned; what is undefined is left out. */
function within(value: unknown, depth: number, step: (value: unknown, depth: number) => unknown): unknown {
  if (depth > 0 && Array.isArray(value)) return value.map((item: unknown) => step(item, depth - 1));
  if (depth > 0 && isRecord(value))
    return Object.fromEntries(Object.entries(value).flatMap(([name, item]) => (item === undefined ? [] : [[name, step(item, depth - 1)]])));
  throw new TypeError(`a message is plain data, ${MAX_DEPTH} levels deep at most`);
}
