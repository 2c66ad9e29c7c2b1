import type { OwnService } from '../types.ts';
import { exchange } from './four-letter-word.ts';

const TTL_MS = 4_000;
const CLOSE_SESSION = -11;
const NO_PASSWORD = Buffer.alloc(16);

/**
 * Whether a server grants a session, which ends again at once. A server that has loaded classes of
 * another version answers administrative commands, but no client.
 */
export async function grantsSession(server: Pick<OwnService, 'url' | 'tls'>): Promise<boolean> {
  const answers = await exchange(server, Buffer.concat([connectRequest(), closeRequest()]));
  // The length of the frame, the protocol's version, and the time that the server grants.
  return answers.length >= 12 && answers.readInt32BE(8) > 0;
}

function connectRequest(): Buffer {
  const body = Buffer.alloc(24);
  body.writeInt32BE(TTL_MS, 12);
  return frame(Buffer.concat([body, frame(NO_PASSWORD), Buffer.from([0])]));
}

function closeRequest(): Buffer {
  const body = Buffer.alloc(8);
  body.writeInt32BE(1);
  body.writeInt32BE(CLOSE_SESSION, 4);
  return frame(body);
}

function frame(body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
}
