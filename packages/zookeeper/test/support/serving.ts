/** A session on servers that answer its calls. */

import type { StoreError } from '@incumbent/core';

import { toStoreError } from '../../src/errors.ts';
import { Writer } from '../../src/protocol/jute.ts';
import { closeSession, sync } from '../../src/protocol/nodes.ts';
import type { Reply } from '../../src/protocol/operation.ts';
import type { ZooKeeperSession } from '../../src/client/session.ts';
import { World, type Answer } from './fake-server.ts';

export const SECOND = 1_000;

/** What a server says to a `sync`. */
export const SYNCED: Uint8Array = new Writer().string('/').finish();

/** Answers every call as `sync` is answered, with zxids that count up from 101. */
export function counting(): Answer {
  let zxid = 100n;
  return ({ xid, type }, peer) => {
    zxid += 1n;
    peer.reply(xid, { zxid, body: type === closeSession.type ? new Uint8Array() : SYNCED });
    if (type === closeSession.type) peer.end();
  };
}

export async function serving(servers = 1): Promise<{ world: World; session: ZooKeeperSession }> {
  const world = new World(servers);
  for (const server of world.servers) server.answer = counting();
  return { world, session: await world.open() };
}

/** A call: a `sync`. */
export function write(session: ZooKeeperSession, timeoutMs = SECOND, signal?: AbortSignal): Promise<Reply<void>> {
  const options = signal === undefined ? { timeoutMs } : { timeoutMs, signal };
  return session.request(sync, '/', options);
}

/** How a call failed, as the adapter will say it: undefined if it did not. */
export async function failureOf(call: Promise<unknown>): Promise<StoreError | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    return toStoreError(error, 'call');
  }
}
