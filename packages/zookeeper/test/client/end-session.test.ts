/** `endSession`, which ends a session of another owner. */

import { describe, expect, it } from 'vitest';

import { toStoreError } from '../../src/errors.ts';
import { endSession } from '../../src/client/end-session.ts';
import { closeSession } from '../../src/protocol/nodes.ts';
import { agree, gone, PASSWORD, silent, World } from '../support/fake-server.ts';

const identity = { id: 5n, password: PASSWORD };

/** What it rejected with; undefined if it resolved. */
function ending(world: World, signal?: AbortSignal) {
  const call = signal === undefined ? { timeoutMs: 5_000 } : { timeoutMs: 5_000, signal };
  const settled = endSession(world.options(), identity, call).then(
    () => undefined,
    (error: unknown) => (signal?.aborted === true ? error : toStoreError(error, 'revoke')),
  );
  return world.clock.run(settled);
}

function leftovers(world: World): readonly unknown[] {
  return [
    world.clock.timers,
    world.clock.holds,
    world.servers.flatMap(({ peers }) => peers).filter(({ socket }) => !socket.destroyed).length,
  ];
}

describe('ending a session by its identity', () => {
  it('sends the request together with the hello', async () => {
    const world = new World();
    world.server.greet = silent;
    world.server.answer = silent;
    expect(await ending(world)).toMatchObject({
      code: 'CONNECTION_LOST',
      outcome: 'unknown',
      message: expect.stringContaining('said nothing'),
    });
    const { peer } = world.server;
    expect([peer.hello?.id, peer.types]).toEqual([5n, [closeSession.type]]);
    expect(leftovers(world)).toEqual([0, 0, 0]);
  });

  it('shows the last transaction that the client has seen, so that a server that is behind does not answer', async () => {
    const world = new World(2);
    // The first server that is asked does not know the session yet.
    world.servers[1]!.greet = (hello, peer) => (hello.lastZxid > 7n ? peer.end() : gone(hello, peer));
    const settled = endSession({ ...world.options(), lastZxid: 8n }, identity, { timeoutMs: 5_000 });
    await world.clock.run(settled);
    const [other, behind] = world.servers.map(({ peers }) => peers[0]);
    expect([behind?.hello?.lastZxid, other?.hello?.lastZxid, other?.types]).toEqual([8n, 8n, [closeSession.type]]);
  });

  it('resolves when the server has confirmed it', async () => {
    const world = new World();
    expect(await ending(world)).toBeUndefined();
    await world.clock.advance(0);
    expect(leftovers(world)).toEqual([0, 0, 0]);
  });

  it('resolves if the session is gone already', async () => {
    const world = new World();
    world.server.greet = gone;
    expect(await ending(world)).toBeUndefined();
    world.server.greet = agree;
    world.server.answer = ({ xid }, peer) => peer.reply(xid, { code: -112 });
    expect(await ending(world)).toBeUndefined();
  });

  it('goes on to the next server when one fails, because ending twice does no harm', async () => {
    const world = new World(3);
    world.servers[0]!.greet = (_, peer) => peer.end();
    world.servers[1]!.accepts = 'refuse';
    world.servers[2]!.answer = ({ xid }, peer) => peer.reply(xid);
    expect(await ending(world)).toBeUndefined();
  });

  it('tries again a few times if a live owner takes the session back', async () => {
    const world = new World();
    world.server.greet = (_, peer) => (world.server.peers.length < 3 ? peer.end() : agree(peer.hello!, peer));
    world.server.answer = ({ xid }, peer) => peer.reply(xid);
    expect(await ending(world)).toBeUndefined();
    expect(world.server.peers).toHaveLength(3);
    world.server.greet = (_, peer) => peer.end();
    expect(await ending(world)).toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown' });
    expect(world.server.peers).toHaveLength(6);
  });

  it.each<readonly [string, (world: World) => void, string, string]>([
    ['that no server answers', ({ server }) => void (server.accepts = 'refuse'), 'UNREACHABLE', 'notSent'],
    ['whose answer is lost', ({ server }) => void (server.answer = (_, peer) => peer.reset()), 'CONNECTION_LOST', 'unknown'],
    ['that is turned away', ({ server }) => void (server.greet = (_, peer) => peer.end()), 'CONNECTION_LOST', 'unknown'],
    ['that is answered out of turn', ({ server }) => void (server.answer = (_, peer) => peer.reply(9)), 'STORE_FAILED', 'unknown'],
    [
      'whose answer is cut short',
      ({ server }) => void (server.answer = (_, peer) => peer.send(new Uint8Array(3))),
      'STORE_FAILED',
      'unknown',
    ],
    [
      'that is refused',
      ({ server }) => void (server.answer = ({ xid }, peer) => peer.reply(xid, { code: -124 })),
      'UNAUTHENTICATED',
      'refused',
    ],
    ['at what is no ZooKeeper', ({ server }) => void (server.greet = (_, peer) => peer.raw('HTTP/1.1 400')), 'UNSUPPORTED', 'refused'],
  ])('%s', async (_, arrange, code, outcome) => {
    const world = new World();
    arrange(world);
    expect(await ending(world)).toMatchObject({ code, outcome });
    await world.clock.advance(0);
    expect(leftovers(world)).toEqual([0, 0, 0]);
  });

  it('ends when its signal aborts', async () => {
    const world = new World();
    await expect(endSession(world.options(), identity, { timeoutMs: 1_000, signal: AbortSignal.abort('before') })).rejects.toBe('before');
    world.server.greet = silent;
    world.server.answer = silent;
    const controller = new AbortController();
    const settled = endSession(world.options(), identity, { timeoutMs: 1_000, signal: controller.signal }).catch((error: unknown) => error);
    await world.clock.advance(10);
    controller.abort('enough');
    expect(await settled).toBe('enough');
    await world.clock.advance(0);
    expect(leftovers(world)).toEqual([0, 0, 0]);
  });
});
