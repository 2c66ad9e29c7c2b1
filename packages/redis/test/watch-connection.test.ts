/** What a watch reports and does when its connection or its server fails. */

import { describe, expect, it } from 'vitest';

import { KeyWatchState } from '../src/watch-state.ts';
import { TWO } from './client/calls.ts';
import { hello, list } from './fake-servers.ts';
import { changed, fields, values, WatchScene } from './watch-scene.ts';

const BUSY = '-BUSY Redis is busy running a script.\r\n';

describe('a watch whose connection is lost', () => {
  it('reports once that it is stale, and reads on the next connection', async () => {
    using scene = new WatchScene();
    const { states, stale } = await scene.watch(new KeyWatchState('a'));
    scene.servers.refused.add('one:1');
    scene.servers.peer.cut();
    await scene.advance(3_000);
    expect([states.length, stale]).toEqual([1, ['CONNECTION_LOST']]);
    scene.servers.refused.clear();
    scene.entries = [fields('a', 'meanwhile')];
    await scene.advance(500);
    expect([values(states), stale]).toEqual([[undefined, 'meanwhile'], ['CONNECTION_LOST']]);
  });

  it('notices within 4 s that the server no longer answers', async () => {
    let isSilent = false;
    using scene = new WatchScene(() => (isSilent ? '' : undefined));
    const { stale } = scene.start(new KeyWatchState('a'));
    await scene.advance(1_000);
    isSilent = true;
    await scene.advance(4_000);
    expect(stale).toEqual(['UNREACHABLE']);
  });

  it('notices within 40 s that the server sends an answer byte by byte, without an end', async () => {
    let isEndless = false;
    using scene = new WatchScene(() => (isEndless ? '' : undefined));
    const { stale } = await scene.watch(new KeyWatchState('a'));
    isEndless = true;
    const { peer } = scene.servers;
    peer.say('$1000000\r\n');
    for (let seconds = 0; seconds < 40; seconds += 1) {
      peer.say('a');
      await scene.advance(1_000);
    }
    expect(stale).toEqual(['UNREACHABLE']);
  });

  it('asks the next server for a lease that the former one reported as ended during a read', async () => {
    const asked: number[] = [];
    let isRead = false;
    using scene: WatchScene = new WatchScene((request, peer) => {
      const { length } = scene.servers.peers;
      if (request[0] !== 'EVALSHA') return undefined;
      if (request.at(-1) !== 'l1') return isRead && length === 1 ? '' : undefined;
      asked.push(length);
      if (length === 1) {
        // Somebody changes the key by hand at this moment, and the read that follows is never
        // answered.
        isRead = true;
        peer.say(changed('a'));
      }
      return list([':-2\r\n']);
    });
    scene.entries = [fields('a', 'one', '2', 'l1')];
    const { states } = await scene.watch(new KeyWatchState('a'));
    await scene.advance(1_030);
    expect(asked).toContain(1);
    scene.servers.peers[0]?.cut();
    await scene.advance(5_000);
    expect(asked).toContain(2);
    expect(values(states).at(-1)).toBeUndefined();
  });
});

describe('a watch whose server no longer serves it', () => {
  it('leaves a server that has become a replica', async () => {
    let role = 'master';
    using scene = new WatchScene(([name]) => (name === 'HELLO' ? hello({ role }) : undefined));
    const { stale, states } = await scene.watch(new KeyWatchState('a'));
    role = 'replica';
    await scene.advance(2_500);
    expect([stale, scene.servers.peers[0]?.left]).toEqual([['UNAVAILABLE'], true]);
    role = 'master';
    await scene.advance(1_000);
    expect(states).toHaveLength(2);
  });

  it('moves to the server that has the slot now, without a call', async () => {
    let hasMoved = false;
    const endpoints = [
      { host: 'one', port: 1 },
      { host: 'two', port: 2 },
    ];
    using scene: WatchScene = new WatchScene(
      ([name]) => (hasMoved && name === 'EVALSHA' && scene.servers.dialed.at(-1) === 'one:1' ? '-MOVED 1 two:2\r\n' : undefined),
      { endpoints },
    );
    scene.entries = [fields('a', 'one', '2', 'l1')];
    const { states, stale } = await scene.watch(new KeyWatchState('a'));
    hasMoved = true;
    scene.entries = [];
    await scene.advance(2_000);
    expect(scene.servers.dialed).toEqual(['one:1', 'two:2']);
    expect([values(states), stale.length]).toEqual([['one', undefined], 1]);
  });

  it.each([
    '-NOREPLICAS Not enough good replicas to write.\r\n',
    '-MISCONF Errors writing to the AOF file\r\n',
    '-READONLY You can not write against a read only replica.\r\n',
    '-CLUSTERDOWN The cluster is down\r\n',
    '-MOVED 1 two:2\r\n',
  ])('leaves a server that refuses writes, without a call: %s', async (refusal) => {
    let refuses = false;
    using scene: WatchScene = new WatchScene(
      ([name = '']) => (refuses && /^(?:DEL|EVALSHA)$/.test(name) && scene.servers.dialed.at(-1) === 'one:1' ? refusal : undefined),
      TWO,
    );
    const { states, stale } = await scene.watch(new KeyWatchState('a'));
    refuses = true;
    await scene.advance(5_000);
    expect([scene.servers.dialed, stale, states.length]).toEqual([['one:1', 'two:2'], ['UNAVAILABLE'], 2]);
  });

  it.each(['BUSY', 'OOM', 'ASK'])('keeps a healthy server that answers %s, and asks it once in 2 s', async (code) => {
    using scene = new WatchScene(([name]) => (name === 'DEL' ? `-${code} words\r\n` : undefined), TWO);
    const { stale } = await scene.watch(new KeyWatchState('a'));
    const before = scene.servers.peer.requests.length;
    await scene.advance(20_000);
    expect([scene.servers.dialed, stale, scene.servers.peer.requests.length - before]).toEqual([['one:1'], [], 10]);
  });

  it('ends with PERMISSION_DENIED if the heartbeat finds that the user may no longer write', async () => {
    using scene = new WatchScene(([name]) => (name === 'DEL' ? "-NOPERM no permissions to run the 'del' command\r\n" : undefined));
    const { ended } = await scene.watch(new KeyWatchState('a'));
    await scene.advance(5_000);
    expect(await ended).toMatchObject({ code: 'PERMISSION_DENIED', details: { grant: 'ACL SETUSER default +del' } });
  });

  it.each(['READONLY You can not write against a read only replica.', 'NOREPLICAS Not enough good replicas to write.'])(
    'goes to the next server when the subscription is answered with %s',
    async (refusal) => {
      let isRefused = false;
      using scene: WatchScene = new WatchScene(
        ([name]) => (isRefused && name === 'EVALSHA' && scene.servers.dialed.at(-1) === 'one:1' ? `-${refusal}\r\n` : undefined),
        TWO,
      );
      await scene.servers.clock.run(scene.client.connect());
      isRefused = true;
      scene.entries = [fields('a', 'one')];
      const { states } = await scene.watch(new KeyWatchState('a'));
      await scene.advance(1_000);
      expect(scene.servers.dialed).toEqual(['one:1', 'two:2']);
      expect(values(states)).toEqual(['one']);
    },
  );

  it('reports that it is stale while the server is busy, and soon reads again', async () => {
    let isBusy = true;
    using scene = new WatchScene(([name]) => (isBusy && name === 'EVALSHA' ? BUSY : undefined));
    const { states, stale } = await scene.watch(new KeyWatchState('a'));
    expect([states.length, stale]).toEqual([0, ['UNAVAILABLE']]);
    isBusy = false;
    await scene.advance(250);
    expect([states.length, stale]).toEqual([1, ['UNAVAILABLE']]);
  });

  it.each([
    ['is busy', BUSY],
    ['cannot write', '-MISCONF Errors writing to the AOF file\r\n'],
  ])('reports that it is stale when a lease may have ended and the server %s', async (_, refusal) => {
    let refuses = false;
    using scene = new WatchScene(([name]) => (refuses && name === 'EVALSHA' ? refusal : undefined));
    scene.entries = [fields('a', 'one', '2', 'l1')];
    const { states, stale } = await scene.watch(new KeyWatchState('a'));
    refuses = true;
    await scene.advance(1_500);
    expect([values(states), stale]).toEqual([['one'], ['UNAVAILABLE']]);
    refuses = false;
    scene.entries = [];
    await scene.advance(1_000);
    expect(values(states)).toContain(undefined);
  });

  it.each([
    ['subscribe', 'SUBSCRIBE'],
    ['read', 'EVALSHA'],
  ])('ends with PERMISSION_DENIED if the user may not %s', async (_, forbidden) => {
    using scene = new WatchScene(([name]) => (name === forbidden ? '-NOPERM no\r\n' : undefined));
    const { ended } = await scene.watch(new KeyWatchState('a'));
    expect(await ended).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('ends with PERMISSION_DENIED if the user loses the permission later', async () => {
    let isForbidden = false;
    using scene = new WatchScene(([name]) =>
      isForbidden && name === 'EVALSHA' ? "-NOPERM no permissions to run the 'evalsha' command\r\n" : undefined,
    );
    scene.entries = [fields('a', 'one', '2', 'l1')];
    const { ended } = await scene.watch(new KeyWatchState('a'));
    isForbidden = true;
    await scene.advance(2_000);
    expect(await ended).toMatchObject({ code: 'PERMISSION_DENIED', details: { grant: 'ACL SETUSER default +evalsha' } });
  });
});
