import { readFile } from 'node:fs/promises';
import { connect as connectPlain } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectSecure } from 'node:tls';

import { LOOPBACK } from '../../ports.ts';
import type { Leadership } from '../kind.ts';
import type { OwnService } from '../types.ts';

type Address = Pick<OwnService, 'url' | 'auth' | 'tls'>;

const ASK_MS = 1_000;

/** Whether a server serves requests: it has loaded its data. */
export async function isServing(server: Address): Promise<boolean> {
  return (await ask(server, 'PING')).includes('+PONG');
}

/** Whether a Sentinel serves requests. Sentinels do not know QUIT. */
export async function isSentinelServing(sentinel: Address): Promise<boolean> {
  return (await ask(sentinel, 'PING', '')).includes('+PONG');
}

/** The version that a Sentinel reports. */
export async function sentinelVersionOf(sentinel: Address): Promise<string> {
  return versionIn(await ask(sentinel, 'INFO server', ''), sentinel);
}

/** The version that the server at this address reports. */
export async function versionOf(server: Address): Promise<string> {
  return versionIn(await ask(server, 'INFO server'), server);
}

function versionIn(info: string, server: Address): string {
  const version = fieldOf(info, 'valkey_version') ?? fieldOf(info, 'redis_version');
  if (version === undefined) throw new Error(`what answers at ${server.url} is no Redis`);
  return version;
}

/** Whether a server accepts writes. */
export async function leadershipOf(server: Address): Promise<Leadership> {
  return { leads: fieldOf(await ask(server, 'INFO replication'), 'role') === 'master', term: 0n };
}

/**
 * A server's answer to one command, logged in if there are users: everything that it sends until it
 * closes the connection.
 */
async function ask({ url, auth, tls }: Address, command: string, end = 'QUIT\r\n'): Promise<string> {
  const port = Number(new URL(url).port);
  const socket = tls === undefined ? connectPlain(port, LOOPBACK) : connectSecure({ host: LOOPBACK, port, ...(await identity(tls)) });
  socket.setTimeout(ASK_MS, () => socket.destroy(new Error(`${url} does not answer`)));
  const login = auth === undefined ? '' : `AUTH ${auth.user} ${auth.password}\r\n`;
  socket.write(`${login}${command}\r\n${end}`);
  if (end === '') socket.end();
  return text(socket);
}

async function identity({ ca, client }: NonNullable<Address['tls']>): Promise<{ ca: Buffer; cert: Buffer; key: Buffer }> {
  const [authority, cert, key] = await Promise.all([readFile(ca), readFile(client.cert), readFile(client.key)]);
  return { ca: authority, cert, key };
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1];
}
