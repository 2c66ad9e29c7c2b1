/** Sessions on real servers. */

import { systemClock, systemRandom } from '@incumbent/core';
import { connectSocket, parseEndpoints, SharedAllowance, type TlsOptions } from '@incumbent/network';

import { OPEN, create, getData } from '../../src/protocol/nodes.ts';
import { openSession, type ZooKeeperSession, type SessionEvent, type SessionOptions } from '../../src/client/session.ts';

export const CALL = { timeoutMs: 5_000 };

let names = 0;

/** A path that no other test has. */
export function freshPath(): string {
  names += 1;
  return `/wire-${process.pid}-${names}`;
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function realOptions(urls: readonly string[], tls?: TlsOptions): SessionOptions {
  return {
    clock: systemClock,
    random: systemRandom,
    endpoints: parseEndpoints(
      urls.map((url) => new URL(url).host),
      2181,
    ),
    connect: (endpoint, signal) => connectSocket(endpoint, { tls }, signal),
    connectTimeoutMs: 2_000,
    handshakeTimeoutMs: 2_000,
    answers: new SharedAllowance(),
    timeoutMs: 4_000,
    auths: [],
  };
}

/** Sessions that end with their test, and their events. */
export class Sessions implements AsyncDisposable {
  readonly #sessions: ZooKeeperSession[] = [];

  async open(options: SessionOptions): Promise<{ session: ZooKeeperSession; events: SessionEvent[] }> {
    const events: SessionEvent[] = [];
    const session = await openSession({ ...options, onEvent: (event) => void events.push(event) }, CALL);
    this.#sessions.push(session);
    return { session, events };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#sessions.splice(0).map((session) => session.close({ timeoutMs: 500 }).catch(() => session.abandon())));
  }
}

export function typesOf(events: readonly SessionEvent[]): readonly string[] {
  return events.map((event) => (event.type === 'connected' && event.reattached ? 'reattached' : event.type));
}

/** Creates a node, and returns its transaction. */
export async function make(session: ZooKeeperSession, path: string, mode: 'persistent' | 'ephemeral' = 'persistent'): Promise<bigint> {
  return (await session.request(create, { path, data: bytesOf('made'), acls: OPEN, mode }, CALL)).answer.stat.czxid;
}

export async function read(session: ZooKeeperSession, path: string): Promise<string> {
  return new TextDecoder().decode((await session.request(getData, { path }, CALL)).answer.data);
}
