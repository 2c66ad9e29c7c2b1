/**
 * node-zookeeper-client, which shares no code with this package, reads what the store writes, and
 * the reverse.
 */

import { Member } from '@incumbent/core';
import { requireStore, sharedZookeeper, uniqueNamespace, until, type Zookeeper } from '@incumbent/test-support';
import zookeeper from 'node-zookeeper-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openZookeeper } from '../src/index.ts';

const WITHIN_MS = 10_000;
const CALL = { timeoutMs: 5_000 };

/** The client, by promises. */
class IndependentClient {
  readonly #client: zookeeper.Client;

  constructor(url: string) {
    this.#client = zookeeper.createClient(new URL(url).host, { sessionTimeout: 10_000, retries: 0, spinDelay: 0 });
  }

  async connect(): Promise<void> {
    const connected = new Promise<void>((resolve) => void this.#client.once('connected', resolve));
    this.#client.connect();
    await connected;
  }

  create(path: string, data: string, mode: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#client.create(path, Buffer.from(data), mode, (error, made) => settle(error, made, resolve, reject));
    });
  }

  read(path: string, onEvent?: (event: zookeeper.Event) => void): Promise<{ readonly data: string; readonly stat: zookeeper.Stat }> {
    return new Promise((resolve, reject) => {
      this.#client.getData(path, onEvent ?? (() => {}), (error, data, stat) =>
        settle(error, { data: data?.toString(), stat }, resolve, reject),
      );
    });
  }

  write(path: string, data: string): Promise<zookeeper.Stat> {
    return new Promise((resolve, reject) => {
      this.#client.setData(path, Buffer.from(data), -1, (error, stat) => settle(error, stat, resolve, reject));
    });
  }

  children(path: string): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      this.#client.getChildren(path, (error, names) => settle(error, names, resolve, reject));
    });
  }

  remove(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#client.remove(path, -1, (error) => settle(error, undefined, resolve, reject));
    });
  }

  close(): void {
    this.#client.close();
  }
}

function settle<T>(error: object | null, value: T, resolve: (value: T) => void, reject: (error: object) => void): void {
  if (error) reject(error);
  else resolve(value);
}

/** Whether a session owns the node: eight bytes, all 0 if none does. */
function isEphemeral({ ephemeralOwner }: zookeeper.Stat): boolean {
  return Buffer.from(ephemeralOwner).some((byte) => byte !== 0);
}

describe.runIf(await requireStore({ store: 'zookeeper' }))('node-zookeeper-client', () => {
  let server: Zookeeper;
  let client: IndependentClient;

  beforeAll(async () => {
    server = await sharedZookeeper();
    client = new IndependentClient(server.url);
    await client.connect();
  });
  afterAll(() => client.close());

  function open(namespace: string) {
    return openZookeeper({ endpoints: [new URL(server.url).host], namespace });
  }

  it('reads what an election has written, and sees it deleted', async () => {
    const namespace = uniqueNamespace();
    await using store = await open(namespace);
    await using member = new Member(store, { memberId: 'm', ttlMs: 5_000 });
    const leadership = await member.election('controller', { value: { url: 'here' } }).campaign();
    const root = `/${namespace}/elections/controller`;
    const events: string[] = [];
    const leader = await client.read(`${root}/leader`, ({ name }) => events.push(name));
    expect(JSON.parse(leader.data)).toMatchObject({ term: '1', memberId: 'm', value: { url: 'here' } });
    expect(isEphemeral(leader.stat)).toBe(true);
    const term = await client.read(`${root}/term`);
    expect([JSON.parse(term.data), isEphemeral(term.stat)]).toMatchObject([{ term: '1', memberId: 'm' }, false]);
    const [entry = '', ...others] = await client.children(`${root}/candidates`);
    expect([entry, others]).toEqual([expect.stringMatching(/^m~.+~z[0-9a-f]+~0000000000$/), []]);
    expect((await client.read(`${root}/candidates/${entry}`)).stat.ephemeralOwner).toEqual(leader.stat.ephemeralOwner);
    await leadership.resign();
    await until(() => events.length > 0, { what: 'the other client gets the event', withinMs: WITHIN_MS });
    expect(events).toEqual(['NODE_DELETED']);
    expect(await client.children(`${root}/candidates`)).toEqual([]);
  });

  it('writes what the store reads, lists and watches', async () => {
    const namespace = uniqueNamespace();
    await using store = await open(namespace);
    await store.compareAndSwap([{ key: 'a/b', expect: null, put: Buffer.from('ours') }], CALL);
    const over = new AbortController();
    const shown: (string | undefined)[] = [];
    const watching = (async () => {
      for await (const entry of store.watch('a/b', { signal: over.signal })) {
        shown.push(entry === undefined ? undefined : Buffer.from(entry.value).toString());
      }
    })();
    await until(() => shown.length > 0, { what: 'the first state', withinMs: WITHIN_MS });
    await client.write(`/${namespace}/a/b`, 'theirs');
    await client.create(`/${namespace}/a/c`, 'passing', zookeeper.CreateMode.EPHEMERAL);
    await until(() => shown.at(-1) === 'theirs', { what: 'their change', withinMs: WITHIN_MS });
    expect(await store.read('a/b', CALL)).toMatchObject({ revision: '1', value: new Uint8Array(Buffer.from('theirs')) });
    const [, passing] = await store.list('a', CALL);
    expect([passing?.key, passing?.lease]).toEqual(['a/c', expect.any(String)]);
    expect(await store.compareAndSwap([{ key: 'a/b', expect: '0', put: Buffer.from('stale') }], CALL)).toMatchObject({ swapped: false });
    await client.remove(`/${namespace}/a/b`);
    await until(() => shown.at(-1) === undefined, { what: 'the deletion', withinMs: WITHIN_MS });
    over.abort();
    await watching;
  });

  it('deposes a leader by deleting its record', async () => {
    const namespace = uniqueNamespace();
    await using store = await open(namespace);
    await using member = new Member(store, { memberId: 'm', ttlMs: 5_000 });
    const leadership = await member.election('controller').campaign();
    await client.remove(`/${namespace}/elections/controller/leader`);
    expect(await leadership.ended).toMatchObject({ reason: 'recordDeleted', lost: true });
  });
});
