/** A cluster of three primaries and three replicas, whose servers fail and whose slots move. */

import { Member, type Leadership, type Store } from '@incumbent/core';
import { requireStore, startRedis, uniqueNamespace, until, type RedisServer } from '@incumbent/test-support';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { openRedis } from '../src/index.ts';

const OPTIONS = { acceptWeakStore: 'redis' } as const;
const NAME = 'controller';
const WITHIN_MS = 90_000;
/** Longer than the 5 s within which a server completes a manual failover, or gives it up. */
const GIVES_UP_MS = 8_000;
const FLAGS = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '3000', '--repl-diskless-sync-delay', '0'];

const hostOf = ({ url }: RedisServer): string => new URL(url).host;
const portOf = ({ url }: RedisServer): string => new URL(url).port;

/** Six servers, of which any three may be the primaries. */
class SixServers implements AsyncDisposable {
  readonly all: readonly RedisServer[];
  /** The server that was killed or paused, if any. */
  down: RedisServer | undefined;

  private constructor(all: readonly RedisServer[]) {
    this.all = all;
  }

  static async start(): Promise<SixServers> {
    const all = await Promise.all(Array.from({ length: 6 }, () => startRedis({ flags: FLAGS })));
    const six = new SixServers(all);
    await all[0]?.ctl(['--cluster', 'create', ...all.map(hostOf), '--cluster-replicas', '1', '--cluster-yes']);
    await six.settled();
    return six;
  }

  /**
   * Resolves when each server knows three primaries, and each primary has a replica with all of its
   * data.
   */
  async settled(): Promise<void> {
    await until(async () => (await Promise.all(this.all.map((server) => this.#isSettled(server)))).every(Boolean), {
      what: 'the cluster is whole',
      withinMs: WITHIN_MS,
    });
  }

  /** The server that has this slot, and the replica of that server. */
  async holders(slot: number): Promise<readonly [primary: RedisServer, replica: RedisServer]> {
    const primaries = await this.primaries();
    const primary = primaries.find(({ ranges }) => ranges.some(([from, to]) => slot >= from && slot <= to));
    const replica = (await this.#nodes()).find(({ follows }) => follows === primary?.id);
    if (primary === undefined || replica === undefined) throw new Error(`nobody has the slot ${slot}, or a copy of it`);
    return [this.#at(primary.port), this.#at(replica.port)];
  }

  async primaries(): Promise<readonly ClusterNode[]> {
    return (await this.#nodes()).filter(({ ranges }) => ranges.length > 0);
  }

  async idOf(server: RedisServer): Promise<string> {
    return (await server.ctl(['cluster', 'myid'])).trim();
  }

  /**
   * Moves a slot with all of its keys to another primary. `during` runs when half of the keys have
   * moved.
   */
  async moveSlot(slot: number, during: () => Promise<void>): Promise<RedisServer> {
    const [source] = await this.holders(slot);
    const other = (await this.primaries()).find(({ port }) => port !== portOf(source));
    if (other === undefined) throw new Error('there is one primary only');
    const target = this.#at(other.port);
    await target.ctl(['cluster', 'setslot', String(slot), 'importing', await this.idOf(source)]);
    await source.ctl(['cluster', 'setslot', String(slot), 'migrating', other.id]);
    const keys = await keysIn(source, slot);
    await migrate(source, target, keys.slice(0, Math.ceil(keys.length / 2)));
    await during();
    for (let left = await keysIn(source, slot); left.length > 0; left = await keysIn(source, slot)) await migrate(source, target, left);
    for (const server of [target, source]) await server.ctl(['cluster', 'setslot', String(slot), 'node', other.id]);
    return target;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.all.map((server) => server.stop()));
  }

  #at(port: string): RedisServer {
    const server = this.all.find((one) => portOf(one) === port);
    if (server === undefined) throw new Error(`no server has the port ${port}`);
    return server;
  }

  /** As a server that runs sees them. A server that has failed is not among them. */
  async #nodes(): Promise<readonly ClusterNode[]> {
    const server = this.all.find((one) => one !== this.down);
    return nodesIn((await server?.ctl(['cluster', 'nodes'])) ?? '');
  }

  async #isSettled(server: RedisServer): Promise<boolean> {
    if (!/cluster_state:ok/.test(await server.ctl(['cluster', 'info']))) return false;
    const nodes = nodesIn(await server.ctl(['cluster', 'nodes']));
    const primaries = nodes.filter(({ ranges }) => ranges.length > 0);
    const isCopied = primaries.every(({ id }) => nodes.some(({ follows }) => follows === id));
    const replication = await server.ctl(['info', 'replication']);
    const isLinked = /role:master/.test(replication) || /master_link_status:up/.test(replication);
    return nodes.length === 6 && primaries.length === 3 && isCopied && isLinked;
  }
}

interface ClusterNode {
  readonly id: string;
  readonly port: string;
  /** The id of the primary that it copies. */
  readonly follows: string;
  readonly ranges: readonly (readonly [from: number, to: number])[];
}

/** Reads `CLUSTER NODES`, without the nodes that have failed. */
function nodesIn(text: string): readonly ClusterNode[] {
  const lines = text.split('\n').map((line) => line.trim().split(' '));
  return lines.flatMap(([id = '', address = '', flags = '', follows = '', , , , , ...slots]) => {
    if (id === '' || /fail|noaddr|handshake/.test(flags)) return [];
    const ranges = slots.filter((range) => /^\d/.test(range)).map((range) => range.split('-').map(Number));
    return [{ id, port: /:(\d+)@/.exec(address)?.[1] ?? '', follows, ranges: ranges.map(([from = 0, to = from]) => [from, to] as const) }];
  });
}

async function keysIn(server: RedisServer, slot: number): Promise<readonly string[]> {
  return (await server.ctl(['cluster', 'getkeysinslot', String(slot), '1000'])).split('\n').filter((key) => key !== '');
}

async function migrate(source: RedisServer, target: RedisServer, keys: readonly string[]): Promise<void> {
  const { hostname, port } = new URL(target.url);
  if (keys.length > 0) await source.ctl(['migrate', hostname, port, '', '0', '5000', 'keys', ...keys]);
}

describe.runIf(await requireStore({ store: 'redis', own: true }))('a cluster of six servers', { timeout: 3 * WITHIN_MS }, () => {
  let six: SixServers;
  let namespace = '';
  let slot = 0;

  beforeAll(async () => {
    six = await SixServers.start();
  }, 2 * WITHIN_MS);
  afterAll(() => six[Symbol.asyncDispose]());
  beforeEach(async () => {
    namespace = uniqueNamespace();
    slot = Number(await six.all[0]?.ctl(['cluster', 'keyslot', `{${namespace}}`]));
  });

  /** Opens a store that knows the addresses of these servers only. */
  const open = (known = six.all): Promise<Store> => openRedis({ endpoints: known.map(hostOf), namespace });

  /** Waits until another server than the old one has the slot. */
  async function replaced(old: RedisServer, withinMs = WITHIN_MS): Promise<void> {
    const isReplaced = async (): Promise<boolean> => (await six.holders(slot).catch(() => [old]))[0] !== old;
    // The replica of the new primary is the old one, which may not be there.
    const isPromoted = async (): Promise<boolean> =>
      (await six.primaries()).some(({ port, ranges }) => port !== portOf(old) && ranges.some(([from, to]) => slot >= from && slot <= to));
    await until(async () => (await isReplaced()) || (await isPromoted()), { what: 'another server has the slot', withinMs });
  }

  /**
   * Makes the replica the primary. The other primaries do not vote about one primary twice within
   * two node timeouts. The replica then gives up without saying so, and is asked again.
   */
  async function promote(replica: RedisServer, primary: RedisServer): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      await replica.ctl(['cluster', 'failover']);
      try {
        return await replaced(primary, GIVES_UP_MS);
      } catch (error) {
        if (tries === 10) throw error;
      }
    }
  }

  const faults = {
    'is killed': async (primary: RedisServer) => {
      six.down = primary;
      await primary.kill();
      await replaced(primary);
      return () => primary.restart();
    },
    'is paused': async (primary: RedisServer) => {
      six.down = primary;
      await primary.pause();
      await replaced(primary);
      return () => primary.resume();
    },
    'hands over by CLUSTER FAILOVER': async (primary: RedisServer, replica: RedisServer) => {
      await promote(replica, primary);
      return async () => {};
    },
  };

  /** `a` leads, `b` waits, and the replica has all of it. */
  async function lead(a: Member, b: Member, other: Store): Promise<readonly [first: Leadership, next: Promise<Leadership>]> {
    const first = await a.election(NAME, OPTIONS).campaign();
    const next = b.election(NAME, OPTIONS).campaign();
    next.catch(() => {});
    const queued = async (): Promise<boolean> => (await other.list(`elections/${NAME}/candidates`, { timeoutMs: 5_000 })).length === 2;
    await until(queued, { what: 'b has joined', withinMs: WITHIN_MS });
    return [first, next];
  }

  /** Publishes by the leader until it succeeds, or until it no longer leads. */
  async function published(leadership: Leadership): Promise<boolean> {
    const tried = (): Promise<boolean> | boolean =>
      !leadership.isValid() ||
      leadership.publish('moved').then(
        () => true,
        () => false,
      );
    await until(tried, { what: 'the leader writes, or leads no more', withinMs: WITHIN_MS });
    return leadership.isValid();
  }

  it.each(Object.entries(faults))('keeps an election going when the primary of its slot %s, and terms still rise', async (_, fail) => {
    await using store = await open();
    await using other = await open();
    await using a = new Member(store, { memberId: 'a' });
    await using b = new Member(other, { memberId: 'b' });
    const [first, next] = await lead(a, b, other);
    const [primary, replica] = await six.holders(slot);
    const mend = await fail(primary, replica);
    if (await published(first)) await first.resign();
    const second = await next;
    expect(second.term).toBeGreaterThan(first.term);
    expect(first.isValid()).toBe(false);
    await mend();
    six.down = undefined;
    await six.settled();
    expect(await published(second)).toBe(true);
    await second.resign();
  });

  it('keeps an election going by the address of one server, also while that server is a replica', async () => {
    const [primary, replica] = await six.holders(slot);
    await using store = await open([primary]);
    await using other = await open([replica]);
    await using a = new Member(store, { memberId: 'a' });
    await using b = new Member(other, { memberId: 'b' });
    const [first, next] = await lead(a, b, other);
    await promote(replica, primary);
    if (await published(first)) await first.resign();
    const second = await next;
    expect(second.term).toBeGreaterThan(first.term);
    await six.settled();
    await using late = await open([primary]);
    expect((await late.read(`elections/${NAME}/leader`, { timeoutMs: 5_000 }))?.key).toBeDefined();
    await second.resign();
  });

  it('pauses an election while its slot moves, and the leader stays the leader', async () => {
    await using store = await open();
    await using other = await open();
    await using a = new Member(store, { memberId: 'a' });
    await using b = new Member(other, { memberId: 'b' });
    const [first, next] = await lead(a, b, other);
    const target = await six.moveSlot(slot, async () => {
      await expect(other.read(`elections/${NAME}/leader`, { timeoutMs: 2_000 })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    });
    expect(await published(first)).toBe(true);
    expect((await six.holders(slot))[0]).toBe(target);
    await first.resign();
    const second = await next;
    expect(second.memberId).toBe('b');
    expect(second.term).toBeGreaterThan(first.term);
    await second.resign();
  });
});
