/**
 * Encodes messages as JSON and decodes them with strict checks. A message is plain data that may
 * contain bigints. So the first character of every encoded string tells its type: `s` for a string,
 * `n` for a bigint.
 */

/** A message, and the election to which it belongs. */
export interface Packet {
  readonly election: string;
  readonly configuration: string;
  readonly message: unknown;
}

/** Messages are shallow: they use three levels. */
const MAX_DEPTH = 8;
const BIGINT = /^n-?\d{1,40}$/;

/** Throws a `TypeError` if the message is not plain data. That is a defect of the algorithm. */
export function encodePacket({ election, configuration, message }: Packet): Buffer {
  return Buffer.from(JSON.stringify({ election, configuration, message: tagged(message, MAX_DEPTH) }));
}

/** Undefined: the bytes are not a valid packet. */
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

/** Decodes a JSON object in UTF-8. Undefined: the bytes are not one. */
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
  // JSON can express -0, but no member sends it.
  if (value === 0) return 0;
  if (typeof value === 'boolean' || isFinite(value)) return value;
  return within(value, depth, untagged);
}

function isFinite(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value);
}

/** Applies `step` to each item of an array or object. Drops undefined properties. */
function within(value: unknown, depth: number, step: (value: unknown, depth: number) => unknown): unknown {
  if (depth > 0 && Array.isArray(value)) return value.map((item: unknown) => step(item, depth - 1));
  if (depth > 0 && isRecord(value))
    return Object.fromEntries(Object.entries(value).flatMap(([name, item]) => (item === undefined ? [] : [[name, step(item, depth - 1)]])));
  throw new TypeError(`a message is plain data, ${MAX_DEPTH} levels deep at most`);
}
