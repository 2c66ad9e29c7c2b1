/** Findings of a review: what a link's failure may not do to what goes by it. */

import { isIncumbentError } from '@incumbent/core';
import { describe, expect, it } from 'vitest';

import { toStoreError } from '../src/errors.ts';
import { KeyMirror, ListMirror } from '../src/watch-state.ts';
import { RedisStore } from '../src/store.ts';
import type { Connection } from '../src/client/connection.ts';
import { list, row, Scene, told, touched, values } from './watch-scene.ts';
import { bulk, FakeServers, hello } from './fake-servers.ts';

const keysOf = (states: readonly (readonly { readonly key: string }[])[]): readonly (readonly string[])[] =>
  states.map((entries) => entries.map(({ key }) => key));

/** A row that another hand has made. */
const later = (key: string): readonly string[] => [key, '9', '9', '', '-1', '2'];

describe('a connection', () => {
  it('gives nobody the answer of another, after a request that cannot be encoded', async () => {
    const servers = new FakeServers(([name, word = '']) => (name === 'ECHO' ? bulk(word) : undefined));
    const client = servers.client();
    const echo = (word: string): Promise<unknown> =>
      client
        .call((connection) => connection.request(['ECHO', word]), { timeoutMs: 500 })
        .then(
          (reply) => Buffer.from(reply as Uint8Array).toString(),
          (error: unknown) => error,
        );
    expect(await servers.clock.run(echo(undefined as never))).toBeInstanceOf(TypeError);
    expect(await servers.clock.run(Promise.all(['one', 'two', 'three'].map(echo)))).toEqual(['one', 'two', 'three']);
    client.close();
  });

  it('that is found to be a replica’s leaves open what was on its way: it may have been done before', async () => {
    let swaps = 0;
    let role = 'master';
    const scene = new Scene(([name, ...rest], peer) => {
      if (name === 'HELLO' && rest.length === 0 && role === 'replica') return '';
      if (name !== 'SWAP') return undefined;
      // It takes writes again, and its answer to the beat is a moment behind.
      swaps += 1;
      peer.say(hello({ role }));
      return '';
    });
    scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    role = 'replica';
    await scene.pass(2_001);
    const swap = scene.client.call((connection: Connection) => connection.request(['SWAP']), { timeoutMs: 5_000 });
    const failure = swap.catch((error: unknown) => toStoreError(error, 'compareAndSwap'));
    await scene.pass(100);
    expect(swaps).toBe(1);
    expect(await failure).toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown' });
    scene.close();
  });
});

describe('a watch whose look has failed', () => {
  it('shows no part of a list as the whole, whatever it is told', async () => {
    let isBusy = true;
    const scene = new Scene(([name]) => (isBusy && name === 'EVALSHA' ? '-BUSY Redis is busy running a script.\r\n' : undefined));
    const { states, stale } = scene.follow(new ListMirror('q'));
    await scene.pass(0);
    isBusy = false;
    scene.rows = [row('q/a', '1'), row('q/b', '1'), later('q/c')];
    await scene.say(told('p', ...later('q/c')), touched('q/c'));
    expect([stale.length, states]).toEqual([1, []]);
    await scene.pass(1_000);
    expect(keysOf(states)).toEqual([['q/a', 'q/b', 'q/c']]);
    scene.close();
  });

  it('shows nothing of what it had, until it has looked', async () => {
    let isBusy = false;
    const scene = new Scene(([name]) => (isBusy && name === 'EVALSHA' ? '-BUSY Redis is busy running a script.\r\n' : undefined));
    scene.rows = [row('q/a', '1', '2', 'l1'), row('q/b', '1')];
    const { states } = scene.follow(new ListMirror('q'));
    await scene.pass(0);
    isBusy = true;
    await scene.say(touched('q/b'));
    await scene.say(told('p', ...later('q/c')), touched('q/c'));
    await scene.pass(5_000);
    expect(keysOf(states)).toEqual([['q/a', 'q/b']]);
    isBusy = false;
    scene.rows = [later('q/c')];
    await scene.pass(1_000);
    expect(keysOf(states)).toEqual([['q/a', 'q/b'], ['q/c']]);
    scene.close();
  });
});

describe('a list', () => {
  it('shows all of a swap or nothing, where one of its keys is too long to be told', async () => {
    const mirror = new ListMirror('q');
    const rows = (value: string) => [row('q/a', value), row('q/b', value)];
    const scene = new Scene();
    scene.rows = rows('old');
    const { states } = scene.follow(mirror);
    await scene.pass(0);
    scene.rows = rows('new');
    const saying = scene.say(told('p', ...row('q/a', 'new', '4'), 'u', 'q/b'), touched('q/a', 'q/b'));
    // What is taken at any moment is made of the mirror then.
    for (let turn = 0; turn < 20; turn += 1) {
      const shown = new Set(mirror.state().map(({ value }) => Buffer.from(value).toString()));
      expect([...shown]).toHaveLength(1);
      await Promise.resolve();
    }
    await saying;
    expect(states.length).toBe(2);
    scene.close();
  });
});

describe('a lease', () => {
  it('that one server told gone during a look, and the next one keeps, is asked for there', async () => {
    const asked: number[] = [];
    let isHeld = false;
    const scene: Scene = new Scene((request, peer) => {
      const { length } = scene.servers.peers;
      if (request[0] !== 'EVALSHA') return undefined;
      if (request.at(-1) !== 'l1') return isHeld && length === 1 ? '' : undefined;
      asked.push(length);
      if (length === 1) {
        // Another hand touches the key just now, so that it is looked at; that look’s answer never comes.
        isHeld = true;
        peer.say(touched('a'));
      }
      return list([':-2\r\n']);
    });
    scene.rows = [row('a', 'one', '2', 'l1')];
    const { states } = scene.follow(new KeyMirror('a'));
    await scene.pass(0);
    await scene.pass(1_030);
    expect(asked).toContain(1);
    scene.servers.peers[0]?.cut();
    await scene.pass(5_000);
    expect(asked).toContain(2);
    expect(values(states).at(-1)).toBeUndefined();
    scene.close();
  });
});

describe('reads that are made together', () => {
  it('do not fail for a key that holds what another hand has written', async () => {
    const odd = ['bad', '2', 'no number', '', '-1', 'x'];
    const rowOf = (key: string): string => list([list((key === 'bad' ? odd : row(key, 'well')).map(bulk))]);
    const servers = new FakeServers(([name, , , , , ...words]) => {
      if (name !== 'EVALSHA') return undefined;
      const keys = words.filter((_, at) => words[at - 1] === 'k');
      return list(keys.map(rowOf));
    });
    const client = servers.client();
    const names = { tag: '{ns}', channel: 'changes', places: '{ns}/' };
    const store = new RedisStore(client, { ...names, clock: servers.clock, access: undefined }, () => {});
    const read = async (key: string): Promise<string> => {
      const entry = await store.read(key, { timeoutMs: 1_000 });
      return Buffer.from(entry?.value ?? '').toString();
    };
    const keys = ['a', 'bad', 'c'];
    const results = await servers.clock.run(Promise.allSettled(keys.map(read)));
    expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed'))).toEqual(['well', 'failed', 'well']);
    await store.close();
  });
});

describe('a store', () => {
  it('rejects, and does not throw, where it cannot be inspected', async () => {
    const servers = new FakeServers(() => undefined);
    const client = servers.client();
    const names = { tag: '{ns}', channel: 'changes', places: '{ns}/' };
    const store = new RedisStore(client, { ...names, clock: servers.clock, access: undefined }, () => {});
    await store.close();
    await expect(store.inspect({ timeoutMs: 100 })).rejects.toSatisfy((error) => isIncumbentError(error, 'STORE_CLOSED'));
  });
});
