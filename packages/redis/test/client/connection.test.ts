import { describe, expect, it } from 'vitest';

import type { Connection } from '../../src/client/connection.ts';
import { toStoreError } from '../../src/errors.ts';
import { KeyWatchState } from '../../src/watch-state.ts';
import { bulk, hello } from '../fake-servers.ts';
import { WatchScene } from '../watch-scene.ts';
import { CALL, serving } from './calls.ts';

describe('a connection', () => {
  it('gives no call the answer of another after a request that cannot be encoded', async () => {
    const { servers, client } = serving(([name, word = '']) => (name === 'ECHO' ? bulk(word) : undefined));
    const echo = (word: unknown): Promise<unknown> =>
      client
        .call((connection) => Reflect.apply(connection.request, connection, [['ECHO', word]]), CALL)
        .then(
          (reply) => (reply instanceof Uint8Array ? Buffer.from(reply).toString() : reply),
          (error: unknown) => error,
        );
    expect(await servers.clock.run(echo(undefined))).toBeInstanceOf(TypeError);
    expect(await servers.clock.run(Promise.all(['one', 'two', 'three'].map(echo)))).toEqual(['one', 'two', 'three']);
    client.close();
  });

  it('that turns out to be to a replica leaves the outcome of requests in flight unknown', async () => {
    let swaps = 0;
    let role = 'master';
    using scene = new WatchScene(([name, ...rest], peer) => {
      if (name === 'HELLO' && rest.length === 0 && role === 'replica') return '';
      if (name !== 'SWAP') return undefined;
      // The server has applied the swap, and its answer to the heartbeat arrives before that to the swap.
      swaps += 1;
      peer.say(hello({ role }));
      return '';
    });
    await scene.watch(new KeyWatchState('a'));
    role = 'replica';
    await scene.advance(2_001);
    const swap = scene.client.call((connection: Connection) => connection.request(['SWAP']), { timeoutMs: 5_000 });
    const failure = swap.catch((error: unknown) => toStoreError(error, 'compareAndSwap'));
    await scene.advance(100);
    expect(swaps).toBe(1);
    expect(await failure).toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown' });
  });
});
