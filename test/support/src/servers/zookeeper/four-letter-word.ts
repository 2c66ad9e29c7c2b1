import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { connect as connectSecure } from 'node:tls';

import type { Certificates } from '../certificates.ts';
import type { OwnService } from '../types.ts';

/** The administrative commands that every server here answers. */
export type FourLetterWord = 'cons' | 'dump' | 'mntr' | 'ruok' | 'srvr' | 'stat' | 'wchs';

export const FOUR_LETTER_WORDS: readonly FourLetterWord[] = ['cons', 'dump', 'mntr', 'ruok', 'srvr', 'stat', 'wchs'];

const TIMEOUT_MS = 1_000;

/**
 * Sends a command to a server on its client port, and returns the answer. Throws if there is none
 * within a second.
 */
export async function fourLetterWord(server: Pick<OwnService, 'url' | 'tls'>, word: FourLetterWord): Promise<string> {
  return String(await exchange(server, Buffer.from(word)));
}

/**
 * Sends bytes to a server, and returns everything that it sends until it closes the connection.
 * Throws if the server is silent for a second.
 */
export async function exchange({ url, tls }: Pick<OwnService, 'url' | 'tls'>, request: Buffer): Promise<Buffer> {
  const socket = await open(new URL(url), tls);
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`${url} does not answer`)));
  socket.write(request);
  return buffer(socket);
}

async function open({ hostname, port }: URL, certificates: Certificates | undefined): Promise<Socket> {
  const address = { host: hostname, port: Number(port) };
  if (certificates === undefined) return connect(address);
  const { ca, client } = certificates;
  const [authority, cert, key] = await Promise.all([ca, client.cert, client.key].map((file) => readFile(file)));
  return connectSecure({ ...address, ca: authority, cert, key });
}
