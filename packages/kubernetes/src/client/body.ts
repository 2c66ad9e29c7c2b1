/** Reads the bodies of responses, with limits on what a broken or hostile server can send. */

import type { IncomingMessage } from 'node:http';

import { checkPieces, TinyPieces } from '@incumbent/network';

import { ExchangeError } from './failure.ts';

/**
 * The longest body, and the longest event of a watch. All keys take up to 1 MB, of which JSON may
 * write each byte as six: `\u0000`, or `\u003c` for a `<`. A list of leases is limited.
 */
const MAX_BYTES = 8 * 2 ** 20;

/** Resolves with the text of the body. */
export async function readText(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  await eachChunk(message, (chunk, length) => {
    if (length > MAX_BYTES) throw malformed(`a response is longer than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  });
  return Buffer.concat(chunks).toString();
}

/** Calls `onLine` with each line as it arrives. Resolves at the end of the body. */
export async function readLines(message: IncomingMessage, onLine: (line: string) => void): Promise<void> {
  let rest: Buffer[] = [];
  let restLength = 0;
  await eachChunk(message, (chunk) => {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...rest, chunk.subarray(from, end)]).toString();
      [rest, restLength, from] = [[], 0, end + 1];
      if (line !== '') onLine(line);
    }
    rest.push(chunk.subarray(from));
    restLength += chunk.length - from;
    if (restLength > MAX_BYTES) throw malformed(`an event of a watch is longer than ${MAX_BYTES} bytes`);
  });
}

function eachChunk(message: IncomingMessage, take: (chunk: Buffer, length: number) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let [pieces, length] = [0, 0];
  message.on('data', (chunk: Buffer) => {
    pieces += 1;
    length += chunk.length;
    try {
      checkPieces(pieces, length);
      take(chunk, length);
    } catch (error) {
      reject(error instanceof TinyPieces ? malformed(error.message) : error);
      message.destroy();
    }
  });
  message.once('end', resolve);
  message.on('error', (error) => reject(new ExchangeError({ kind: 'cut' }, error.message, error)));
  message.once('close', () => reject(new ExchangeError({ kind: 'cut' }, 'the connection closed before the end of the response')));
  return promise;
}

function malformed(message: string): ExchangeError {
  return new ExchangeError({ kind: 'malformed' }, message);
}
