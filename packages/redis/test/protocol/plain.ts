/** Messages as plain values, to compare. */

import type { SharedAllowance } from '@incumbent/network';

import { Reader } from '../../src/protocol/reader.ts';
import { isList, type Reply } from '../../src/protocol/resp.ts';

export interface PlainMessage {
  readonly isPush: boolean;
  readonly reply: unknown;
}

/** Decodes all items of lists, and copies bytes. */
export function plainReply(reply: Reply): unknown {
  if (reply instanceof Uint8Array) return new Uint8Array(reply);
  return isList(reply) ? Array.from(reply, plainReply) : reply;
}

/** A reader, and the messages that it has found. */
export function collecting(answers?: SharedAllowance): { readonly reader: Reader; readonly messages: PlainMessage[] } {
  const messages: PlainMessage[] = [];
  const reader = new Reader(({ isPush, reply }) => messages.push({ isPush, reply: plainReply(reply) }), answers);
  return { reader, messages };
}
