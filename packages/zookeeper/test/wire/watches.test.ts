/** Watches: whoever listens looks often enough, whatever becomes of connections and servers. */

import { describe, expect, it } from 'vitest';

import { PING } from '../../src/wire/header.ts';
import { Writer } from '../../src/wire/jute.ts';
import { exists, getChildren, getData } from '../../src/wire/nodes.ts';
import type { Session } from '../../src/wire/session.ts';
import { writeStat } from '../../src/wire/stat.ts';
import type { WatchListener } from '../../src/wire/watches.ts';
import { addWatch, removeWatch, type WatchMode } from '../../src/wire/watch-ops.ts';
import { agree, silent, World, type Answer, type ClientRequest, type FakeServer, type Peer } from './fake-server.ts';

/** What a listener was told, in order. */
class Ear implements WatchListener {
  readonly heard: string[] = [];

  changed(): void {
    this.heard.push('changed');
  }

  stale(): void {
    this.heard.push('stale');
  }

  ended(): void {
    this.heard.push('ended');
  }

  take(): readonly string[] {
    return this.heard.splice(0);
  }
}

function listen(session: Session, path: string, mode: WatchMode = 'node'): { ear: Ear; stop: () => void } {
  const ear = new Ear();
  return { ear, stop: session.watch(path, mode, ear) };
}

const CREATED = 1;
const DELETED = 2;
const DATA = 3;
const CHILDREN = 4;
const NONODE = -101;
const UNIMPLEMENTED = -6;

async function watched(): Promise<{ world: World; session: Session; peer: () => Peer }> {
  const world = new World();
  return { world, session: await world.open(), peer: () => world.server.peer };
}

describe('a watch', () => {
  it('tells to look when it stands, and not before', async () => {
    const { world, session, peer } = await watched();
    world.server.answer = silent;
    const { ear } = listen(session, '/a', 'tree');
    await world.clock.advance(100);
    expect([peer().types, ear.take()]).toEqual([[addWatch.type], []]);
    peer().reply(1);
    await world.clock.advance(0);
    expect(ear.take()).toEqual(['changed']);
    session.abandon();
  });

  it('of a node hears of that path, one of a tree of all below it, and neither of others', async () => {
    const { world, session, peer } = await watched();
    const ears = { node: listen(session, '/a').ear, tree: listen(session, '/a/b', 'tree').ear, all: listen(session, '/', 'tree').ear };
    await world.clock.advance(0);
    const heardOf = async (path: string): Promise<readonly string[]> => {
      for (const ear of Object.values(ears)) ear.take();
      peer().event(DATA, path);
      await world.clock.advance(0);
      return Object.entries(ears).flatMap(([name, ear]) => (ear.heard.length > 0 ? [name] : []));
    };
    expect(await heardOf('/a')).toEqual(['node', 'all']);
    expect(await heardOf('/a/b')).toEqual(['tree', 'all']);
    expect(await heardOf('/a/b/c/d')).toEqual(['tree', 'all']);
    expect(await heardOf('/a/bc')).toEqual(['all']);
    expect(await heardOf('/')).toEqual(['all']);
    session.abandon();
  });

  it('that many listen to is asked for once, and given up a second after the last of them', async () => {
    const { world, session, peer } = await watched();
    const [first, second] = [listen(session, '/a'), listen(session, '/a')];
    await world.clock.advance(0);
    const third = listen(session, '/a');
    await world.clock.advance(0);
    for (const { ear } of [first, second, third]) expect(ear.take()).toContain('changed');
    const asked = peer().types.length;
    first.stop();
    first.stop();
    second.stop();
    peer().event(DATA, '/a');
    await world.clock.advance(0);
    expect([first.ear.take(), second.ear.take(), third.ear.take()]).toEqual([[], [], ['changed']]);
    expect(peer().types).toHaveLength(asked);
    third.stop();
    await world.clock.advance(999);
    expect(peer().types).toHaveLength(asked);
    await world.clock.advance(1);
    expect(peer().types.at(-1)).toBe(removeWatch.type);
    peer().event(DATA, '/a');
    await world.clock.advance(0);
    expect(third.ear.take()).toEqual([]);
    session.abandon();
  });

  it('that somebody listens to again within that second is not asked for again', async () => {
    const { world, session, peer } = await watched();
    const first = listen(session, '/a');
    await world.clock.advance(0);
    const asked = peer().types.length;
    first.stop();
    await world.clock.advance(500);
    const second = listen(session, '/a');
    await world.clock.advance(10_000);
    expect(second.ear.take()).toEqual(['changed']);
    expect(peer().types.filter((type) => type !== PING)).toHaveLength(asked);
    session.abandon();
  });

  it('that nobody listens to is not made again on the next connection', async () => {
    const { world, session, peer } = await watched();
    const first = listen(session, '/a');
    await world.clock.advance(0);
    first.stop();
    peer().reset();
    await world.clock.advance(2_000);
    expect(peer().types.filter((type) => type !== PING)).toEqual([]);
    session.abandon();
    await world.clock.advance(0);
    expect(world.clock.timers).toBe(0);
  });

  it('that grows into one of a tree is one for all, for a path has one mode', async () => {
    const { world, session, peer } = await watched();
    const node = listen(session, '/a');
    await world.clock.advance(0);
    const tree = listen(session, '/a', 'tree');
    await world.clock.advance(0);
    const again = listen(session, '/a');
    await world.clock.advance(0);
    const modes = peer().requests.map(({ body }) => [body.string(), body.int()]);
    expect(modes).toEqual([
      ['/a', 0],
      ['/a', 1],
    ]);
    for (const { ear } of [node, tree, again]) expect(ear.take()).toContain('changed');
    session.abandon();
  });

  it('is stale with its connection, and stands again on the next one, where everybody looks', async () => {
    const { world, session, peer } = await watched();
    const ears = ['/a', '/b'].map((path) => listen(session, path).ear);
    await world.clock.advance(0);
    for (const ear of ears) ear.take();
    world.server.accepts = 'refuse';
    peer().reset();
    await world.clock.advance(0);
    for (const ear of ears) expect(ear.take()).toEqual(['stale']);
    world.server.accepts = true;
    await world.clock.advance(1_000);
    for (const ear of ears) expect(ear.take()).toEqual(['changed']);
    expect(world.server.peers.map(({ types }) => types)).toEqual([
      [addWatch.type, addWatch.type],
      [addWatch.type, addWatch.type],
    ]);
    session.abandon();
  });

  it('made while there is no connection stands on the next one', async () => {
    const { world, session, peer } = await watched();
    world.server.accepts = 'refuse';
    peer().reset();
    await world.clock.advance(0);
    const { ear } = listen(session, '/a');
    world.server.accepts = true;
    await world.clock.advance(1_000);
    expect(ear.take()).toEqual(['changed']);
    session.abandon();
  });

  it('whose connection is lost before it stands stands on the next one', async () => {
    const { world, session, peer } = await watched();
    world.server.answer = (_, one) => one.reset();
    const { ear } = listen(session, '/a');
    await world.clock.advance(0);
    world.server.answer = ({ xid }, one) => one.reply(xid);
    peer().reset();
    await world.clock.advance(1_000);
    expect(ear.take().at(-1)).toBe('changed');
    session.abandon();
  });

  it('that the server does not answer for loses the connection, and stands on the next one', async () => {
    const { world, session } = await watched();
    world.server.answer = silent;
    const { ear } = listen(session, '/a');
    await world.clock.advance(4_999);
    world.server.answer = ({ xid }, one) => one.reply(xid);
    expect(world.told).toHaveLength(1);
    await world.clock.advance(1);
    expect(world.told).toEqual(['connected zk:1', 'disconnected', 'reattached zk:1']);
    expect(ear.take()).toEqual(['stale', 'changed']);
    session.abandon();
  });

  it('that the server refuses has ended', async () => {
    const { world, session } = await watched();
    world.server.answer = ({ xid }, one) => one.reply(xid, { code: -102 });
    const { ear, stop } = listen(session, '/a');
    await world.clock.advance(0);
    expect(ear.take()).toEqual(['ended']);
    stop();
    session.abandon();
    expect(ear.take()).toEqual([]);
  });

  it.each([
    ['stands', 'changed'],
    ['has lost its connection', 'changed'],
    ['nobody listens any more', undefined],
    ['the session is over', 'ended'],
  ])('that the server will not have now is asked for again in a while: it %s', async (then, last) => {
    const { world, session, peer } = await watched();
    world.server.answer = ({ xid }, one) => one.reply(xid, { code: -127 });
    const { ear, stop } = listen(session, '/a');
    await world.clock.advance(0);
    expect(ear.take()).toEqual(['stale']);
    world.server.answer = ({ xid }, one) => one.reply(xid);
    if (then === 'has lost its connection') peer().reset();
    if (then === 'nobody listens any more') stop();
    if (then === 'the session is over') session.abandon();
    await world.clock.advance(5_000);
    expect(ear.take().at(-1)).toBe(last);
    session.abandon();
    expect(world.clock.timers).toBe(0);
  });

  it('ends with the session; one that comes too late, at once', async () => {
    const { world, session } = await watched();
    const { ear, stop } = listen(session, '/a');
    await world.clock.advance(0);
    ear.take();
    session.abandon();
    expect(ear.take()).toEqual(['ended']);
    stop();
    const late = listen(session, '/a');
    await world.clock.advance(0);
    expect(late.ear.take()).toEqual(['ended']);
  });

  it('of a lasting session goes over to the one that follows', async () => {
    const world = new World();
    const session = await world.open({ lasting: true });
    const { ear } = listen(session, '/a');
    await world.clock.advance(0);
    world.server.accepts = 'refuse';
    world.server.peer.reset();
    await world.clock.advance(10_000);
    expect(world.told.at(-1)).toBe('expired by clock');
    expect(ear.take()).toEqual(['changed', 'stale']);
    world.server.accepts = true;
    await world.clock.advance(1_000);
    expect(ear.take()).toEqual(['changed']);
    session.abandon();
  });
});

/** A server before 3.6, with nodes. Its watches are gone after one event. */
class OldServer {
  readonly nodes = new Set<string>(['/']);
  readonly data = new Set<string>();
  readonly children = new Set<string>();
  readonly asked: string[] = [];
  readonly #server: FakeServer;

  constructor(server: FakeServer) {
    this.#server = server;
    server.greet = (hello, peer) => {
      this.data.clear();
      this.children.clear();
      agree(hello, peer);
    };
    server.answer = this.answer;
  }

  answer: Answer = (request, peer) => {
    if (request.type === addWatch.type) {
      peer.reply(request.xid, { code: UNIMPLEMENTED });
      peer.end();
      return;
    }
    const [path, watch] = [request.body.string(), request.body.bool()];
    this.asked.push(`${request.type} ${path}`);
    this.#read(request, path, watch, peer);
  };

  create(path: string): void {
    this.nodes.add(path);
    this.#fire(this.data, CREATED, path);
    this.#fire(this.children, CHILDREN, parentOf(path));
  }

  delete(path: string): void {
    this.nodes.delete(path);
    this.#fire(this.data, DELETED, path);
    this.#fire(this.children, DELETED, path);
    this.#fire(this.children, CHILDREN, parentOf(path));
  }

  change(path: string): void {
    this.#fire(this.data, DATA, path);
  }

  #read({ xid, type }: ClientRequest, path: string, watch: boolean, peer: Peer): void {
    const found = this.nodes.has(path);
    // Only `exists` leaves a watch behind for a node that there is not.
    if (watch && (found || type === exists.type)) (type === getChildren.type ? this.children : this.data).add(path);
    if (!found) {
      peer.reply(xid, { code: NONODE });
      return;
    }
    const body = new Writer();
    if (type === getData.type) body.buffer(new Uint8Array());
    const names = [...this.nodes].filter((node) => node !== '/' && parentOf(node) === path);
    if (type === getChildren.type) body.vector(names, (writer, name) => writer.string(name.slice(name.lastIndexOf('/') + 1)));
    const stat = { czxid: 1n, mzxid: 1n, version: 0, cversion: 0, ephemeralOwner: 0n, dataLength: 0, numChildren: names.length, pzxid: 1n };
    peer.reply(xid, { body: writeStat(body, stat).finish() });
  }

  #fire(watches: Set<string>, type: number, path: string): void {
    if (watches.delete(path)) this.#server.peer.event(type, path);
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

async function old(nodes: readonly string[], mode: WatchMode = 'tree') {
  const { world, session } = await watched();
  const server = new OldServer(world.server);
  for (const node of nodes) server.nodes.add(node);
  const { ear, stop } = listen(session, '/a', mode);
  await world.clock.advance(1_000);
  /** Does it, and answers what was heard. */
  const after = async (task: () => void): Promise<number> => {
    ear.take();
    task();
    await world.clock.advance(0);
    return ear.take().filter((word) => word === 'changed').length;
  };
  return { world, session, server, ear, stop, after };
}

describe('a watch on a server before 3.6', () => {
  it('stands after the server has ended the connection over what it does not know', async () => {
    const { world, session, ear } = await old(['/a']);
    expect(world.told).toEqual(['connected zk:1', 'disconnected', 'reattached zk:1']);
    expect(ear.take()).toEqual(['stale', 'changed']);
    session.abandon();
  });

  it('hears of everything in its tree, again and again', async () => {
    const { session, server, after } = await old(['/a', '/a/b', '/a/b/c']);
    for (let round = 0; round < 3; round += 1) {
      for (const path of ['/a', '/a/b', '/a/b/c']) expect(await after(() => server.change(path))).toBeGreaterThan(0);
      expect(await after(() => server.create('/a/b/d'))).toBeGreaterThan(0);
      expect(await after(() => server.change('/a/b/d'))).toBeGreaterThan(0);
      expect(await after(() => server.create('/a/b/d/e'))).toBeGreaterThan(0);
      expect(await after(() => server.change('/a/b/d/e'))).toBeGreaterThan(0);
      expect(await after(() => server.delete('/a/b/d/e'))).toBeGreaterThan(0);
      expect(await after(() => server.delete('/a/b/d'))).toBeGreaterThan(0);
      expect(await after(() => server.change('/x'))).toBe(0);
    }
    session.abandon();
  });

  it('looks at new nodes only, when one comes', async () => {
    const { session, server, after } = await old(['/a', ...Array.from({ length: 50 }, (_, i) => `/a/${i}`)]);
    server.asked.splice(0);
    await after(() => server.create('/a/new'));
    expect(server.asked.toSorted()).toEqual([`${getChildren.type} /a`, `${getChildren.type} /a/new`, `${getData.type} /a/new`].toSorted());
    session.abandon();
  });

  it('hears of the root’s making, its end, and its making again', async () => {
    const { session, server, after } = await old([]);
    for (let round = 0; round < 3; round += 1) {
      expect(await after(() => server.create('/a'))).toBeGreaterThan(0);
      expect(await after(() => server.create('/a/b'))).toBeGreaterThan(0);
      expect(await after(() => server.delete('/a/b'))).toBeGreaterThan(0);
      expect(await after(() => server.delete('/a'))).toBeGreaterThan(0);
    }
    session.abandon();
  });

  it('of one node hears of that node', async () => {
    const { session, server, after } = await old(['/a', '/a/b'], 'node');
    for (let round = 0; round < 3; round += 1) {
      expect(await after(() => server.change('/a'))).toBe(1);
      expect(await after(() => server.change('/a/b'))).toBe(0);
      expect(await after(() => server.delete('/a'))).toBe(1);
      expect(await after(() => server.create('/a'))).toBe(1);
    }
    session.abandon();
  });

  it('hears of a node that is deleted and made again at once', async () => {
    const { session, server, after } = await old(['/a', '/a/b']);
    await after(() => {
      server.delete('/a/b');
      server.create('/a/b');
    });
    expect(await after(() => server.change('/a/b'))).toBeGreaterThan(0);
    session.abandon();
  });

  it('stands again after a lost connection, and leaves no watch for what is no more', async () => {
    const { world, session, server, ear, after } = await old(['/a', '/a/b']);
    ear.take();
    server.nodes.delete('/a/b');
    server.nodes.add('/a/c');
    world.server.peer.reset();
    await world.clock.advance(1_000);
    expect(ear.take()).toEqual(['stale', 'changed']);
    expect([...server.data].toSorted()).toEqual(['/a', '/a/c']);
    expect(await after(() => server.change('/a/c'))).toBe(1);
    session.abandon();
  });
});
