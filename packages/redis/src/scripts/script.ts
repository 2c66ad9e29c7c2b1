/**
 * Runs Lua scripts by their digest, and sends the text only to a server that does not know the
 * digest.
 */

import { createHash } from 'node:crypto';

import type { Connection } from '../client/connection.ts';
import type { Keyspace } from '../namespace.ts';
import { isAnswer } from '../protocol/failure.ts';
import type { Reply } from '../protocol/resp.ts';
import { PRELUDE } from './prelude.ts';

export interface Script {
  readonly text: string;
  /** The SHA-1 of the text. */
  readonly digest: string;
}

/**
 * `allow-oom`: the script needs no memory. Without this flag, a server whose memory is full refuses
 * to start the script. A server never stops a script because of its memory. `no-writes`: the script
 * may run on a replica.
 */
type Flag = 'allow-oom' | 'allow-stale' | 'no-writes';

export function script({ body, flags = [] }: { readonly body: string; readonly flags?: readonly Flag[] }): Script {
  const text = `#!lua${flags.length > 0 ? ` flags=${flags.join(',')}` : ''}\n${PRELUDE}${body}`;
  return { text, digest: createHash('sha1').update(text).digest('hex') };
}

/**
 * Runs a script, with the tag as its key and the channel as its first argument. A server that does
 * not know the digest has done nothing, so it then gets the text, unless `over` has aborted: the
 * call has ended. `read` must copy what it keeps. Rejects with an `ExchangeError`, or as `read`
 * does.
 */
export async function runScript<T>(
  connection: Connection,
  { text, digest }: Script,
  { tag, channel }: Keyspace,
  args: readonly (string | Uint8Array)[],
  read: (reply: Reply) => T,
  over?: AbortSignal,
): Promise<T> {
  const rest = ['1', tag, channel, ...args];
  try {
    return await connection.request(['EVALSHA', digest, ...rest], read);
  } catch (error) {
    if (!isAnswer(error, 'NOSCRIPT')) throw error;
  }
  over?.throwIfAborted();
  return connection.request(['EVAL', text, ...rest], read);
}
