/**
 * Checks the shape of a reply. Each function throws an `ExchangeError` (`malformed`) for another
 * shape.
 */

import { malformed } from './failure.ts';
import { isList, type Reply, type ReplyList } from './resp.ts';

export function listOf(reply: Reply | undefined): ReplyList {
  if (reply === undefined || !isList(reply)) throw malformed();
  return reply;
}

export function bytesOf(reply: Reply | undefined): Uint8Array {
  if (!(reply instanceof Uint8Array)) throw malformed();
  return reply;
}

export function numberOf(reply: Reply | undefined): number {
  if (typeof reply !== 'number') throw malformed();
  return reply;
}

/** Decodes UTF-8. The empty string for a field that is missing. */
export function textOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}
