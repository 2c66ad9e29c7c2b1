import { once } from 'node:events';
import { createServer } from 'node:net';

import { ManualClock } from '@incumbent/memory';
import { connectSocket } from '@incumbent/network';
import { describe, expect, it } from 'vitest';

import { Connection } from '../../src/client/connection.ts';
import { bytesOf, textOf } from '../../src/protocol/replies.ts';
import type { Reply } from '../../src/protocol/resp.ts';
import { KeyWatchState } from '../../src/watch-state.ts';
import { bulk, hello } from '../fake-servers.ts';
import { WatchScene } from '../watch-scene.ts';
import { CALL, serving } from './calls.ts';

const textIn = (reply: Reply): string => textOf(bytesOf(reply));

describe('a connection', () => {
  it('gives no call the answer of another after a request that cannot be encoded', async () => {
    const { servers, client } = serving(([name, word = '']) => (name === 'ECHO' ? bulk(word) : undefined));
    const echo = (word: unknown): Promise<unknown> =>
      client
        .call((connection) => Reflect.apply(connection.request, connection, [['ECHO', word], textIn]), CALL)
        .catch((error: unknown) => error);
    expect(await servers.clock.run(echo(undefined))).toBeInstanceOf(TypeError);
    expect(await servers.clock.run(Promise.all(['one', 'two', 'three'].map(echo)))).toEqual(['one', 'two', 'three']);
    client.close();
  });

  it('frees the memory of a long answer when it was read', async () => {
    const length = 1_000_000;
    const { servers, client } = serving(([name]) => (name === 'GET' ? bulk('a'.repeat(length)) : undefined));
    const get = (connection: Connection): Promise<Uint8Array> => connection.request(['GET'], bytesOf);
    const kept = await servers.clock.run(client.call(get, CALL));
    expect(kept).toHaveLength(0);
    const copy = (connection: Connection): Promise<Uint8Array> => connection.request(['GET'], (reply) => new Uint8Array(bytesOf(reply)));
    expect(await servers.clock.run(client.call(copy, CALL))).toHaveLength(length);
    client.close();
  });

  it('frees the memory of what a socket has received when it was copied', async () => {
    const length = 1_000_000;
    const server = createServer((peer) => peer.once('data', () => peer.end(bulk('a'.repeat(length)))));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const socket = await connectSocket({ host: '127.0.0.1', port }, {}, new AbortController().signal);
    const chunks: { readonly chunk: Uint8Array; readonly bytes: number }[] = [];
    socket.on('data', (chunk: Uint8Array) => chunks.push({ chunk, bytes: chunk.length }));
    const connection = new Connection(socket, new ManualClock(), { onPush: () => {} });
    connection.onGreeted();
    expect(await connection.request(['GET'], (reply) => bytesOf(reply).length)).toBe(length);
    expect(chunks.filter(({ chunk, bytes }) => bytes >= 4_096 && chunk.length > 0)).toEqual([]);
    await connection.ended;
    server.close();
  });

  it('that turns out to be to a replica gives requests in flight their own answers', async () => {
    let role = 'master';
    using scene = new WatchScene(([name, ...rest], peer) => {
      if (name === 'HELLO' && rest.length === 0 && role === 'replica') return '';
      if (name !== 'SWAP') return undefined;
      // The answer to the heartbeat arrives before that to the swap.
      peer.say(hello({ role }));
      return '';
    });
    await scene.watch(new KeyWatchState('a'));
    role = 'replica';
    await scene.advance(2_001);
    const swap = scene.client.call((connection: Connection) => connection.request(['SWAP'], textIn), { timeoutMs: 5_000 });
    await scene.advance(100);
    scene.servers.peer.say('$4\r\ndone\r\n');
    await scene.advance(0);
    expect(await swap).toBe('done');
    expect(scene.servers.peer.left).toBe(true);
  });
});
