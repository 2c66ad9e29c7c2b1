/** A session on servers that answer its calls. */

import type { StoreError } from '@incumbent/core';

import { toStoreError } from '../../src/errors.ts';
import { frame, Xid } from '../../src/protocol/frame.ts';
import { Writer } from '../../src/protocol/jute.ts';
import { closeSession, getData, sync, writeStat } from '../../src/protocol/nodes.ts';
import type { Reply } from '../../src/protocol/operation.ts';
import type { SessionOptions, ZooKeeperSession } from '../../src/client/session.ts';
import { ok, World, type Answer } from './fake-server.ts';

export const SECOND = 1_000;

const LONG_BYTES = 1_000_000;

const NEW_STAT = { czxid: 1n, mzxid: 1n, version: 0, cversion: 0, ephemeralOwner: 0n, dataLength: 0, numChildren: 0, pzxid: 1n };

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

export async function serving(servers = 1, options: Partial<SessionOptions> = {}): Promise<{ world: World; session: ZooKeeperSession }> {
  const world = new World(servers);
  for (const server of world.servers) server.answer = counting();
  return { world, session: await world.open(options) };
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

/**
 * From now on the server takes `seconds` for the answer to a `getData`: it sends a piece each
 * second. Its other answers, those to pings too, wait behind it.
 */
export function answerSlowly({ server, clock }: World, seconds: number): void {
  const waiting: (() => void)[] = [];
  let isSending = false;
  server.pongs = false;
  server.answer = (request, peer) => {
    if (isSending) return void waiting.push(() => ok(request, peer));
    if (request.type !== getData.type) return ok(request, peer);
    isSending = true;
    const body = writeStat(new Writer().buffer(new Uint8Array(LONG_BYTES)), NEW_STAT).finish();
    const answer = frame(new Writer().int(request.xid).long(1n).int(0).raw(body).finish());
    const pieceBytes = Math.ceil(answer.length / seconds);
    const send = (at: number): void => {
      peer.raw(answer.subarray(at, at + pieceBytes));
      if (at + pieceBytes < answer.length) return void clock.schedule(SECOND, () => send(at + pieceBytes));
      isSending = false;
      server.pongs = true;
      peer.reply(Xid.ping);
      for (const reply of waiting) reply();
    };
    send(0);
  };
}
