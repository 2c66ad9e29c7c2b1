/** A script in Lua, as servers are asked to run it: by its digest where they know it. */

import { createHash } from 'node:crypto';

import type { Connection } from '../client/connection.ts';
import { isAnswer } from '../client/failure.ts';
import type { Reply } from '../protocol/resp.ts';
import { PRELUDE } from './prelude.ts';

export interface Script {
  readonly text: string;
  readonly digest: string;
}

/**
 * `allow-oom`: for what needs no memory. Without it a server whose memory is full does not begin; it never stops one in its middle. And none is begun
 * on a replica, unless it is told that nothing is written.
 */
type Flag = 'allow-oom' | 'allow-stale' | 'no-writes';

export function script({ body, flags = [] }: { readonly body: string; readonly flags?: readonly Flag[] }): Script {
  const text = `#!lua${flags.length > 0 ? ` flags=${flags.join(',')}` : ''}\n${PRELUDE}${body}`;
  return { text, digest: createHash('sha1').update(text).digest('hex') };
}

/** A server that does not know the digest has done nothing: then it is given the text, unless the call is over. Rejects with an `ExchangeError`. */
export async function run(
  connection: Connection,
  { text, digest }: Script,
  tag: string,
  args: readonly (string | Uint8Array)[],
  over?: AbortSignal,
): Promise<Reply> {
  try {
    return await connection.request(['EVALSHA', digest, '1', tag, ...args]);
  } catch (error) {
    if (!isAnswer(error, 'NOSCRIPT')) throw error;
  }
  over?.throwIfAborted();
  return connection.request(['EVAL', text, '1', tag, ...args]);
}
