/** Watches whose stream has an outdated token, against a fake server. */

import type { Entry } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Writer } from '../src/protocol/protobuf.ts';
import { fails, ok, startFakeServer } from './fake-server.ts';
import { creates, openOn, SOON, type Watching, WatchScene } from './fake-watches.ts';

describe('a watch', () => {
  let scene: WatchScene;

  beforeEach(async () => {
    scene = await WatchScene.open();
  });
  afterEach(async () => scene.close());

  it('gets another stream, without onStale, when the server refuses it for the token of its stream', async () => {
    scene.onCreate = [(watching) => watching.says({ id: -1n, created: true, canceled: 'etcdserver: permission denied' }), creates];
    scene.begin();
    await scene.shows('read');
    expect([scene.watch.stale, scene.streams.length]).toEqual([[], 2]);
  });

  it('keeps its stream after the end of the token; at the end of the next token, it starts again on the newest stream', async () => {
    const other = await startFakeServer(scene.answer);
    const both = await openOn(scene.server, other);
    const confirms = (watching: Watching): void => watching.says({ id: BigInt(watching.asked.length), created: true });
    const refuses = (watching: Watching): void => watching.says({ id: -1n, created: true, canceled: 'etcdserver: invalid auth token' });
    scene.onCreate = [confirms, refuses, confirms, refuses, confirms];
    const watches: Recorder<Entry | undefined>[] = [];
    for (let streams = 1; streams <= 3; streams += 1) {
      const watch = new Recorder<Entry | undefined>((options) => both.watch('a', options));
      watches.push(watch);
      await expect.poll(() => watch.states.length, SOON).toBe(1);
      expect(scene.streams.length).toBe(streams);
    }
    await expect.poll(() => watches[0]?.states.length, SOON).toBe(2);
    expect(scene.streams.map(({ asked }) => asked.length)).toEqual([2, 2, 2]);
    await expect.poll(() => scene.streams.map(({ stream }) => stream.closed), SOON).toEqual([true, false, false]);
    expect(watches.map(({ stale }) => stale.map(({ code }) => code))).toEqual([['CONNECTION_LOST'], [], []]);
    // The member is not to blame.
    expect(scene.streams[2]?.stream.session).toBe(scene.streams[1]?.stream.session);
    await both.close();
    await other[Symbol.asyncDispose]();
  });

  it.each([
    ['permission denied', 'PERMISSION_DENIED'],
    ['invalid auth token', 'UNAUTHENTICATED'],
  ])('ends when the server refuses it twice (%s)', async (reason, code) => {
    scene.onCreate = [(watching) => watching.says({ id: -1n, created: true, canceled: `etcdserver: ${reason}` })];
    scene.begin();
    expect(await scene.watch.ended).toMatchObject({ code });
    expect([scene.values(), scene.watch.stale, scene.streams.length]).toEqual([[], [], 2]);
  });

  it('is created again while an administrator changes users, however often its token is outdated', async () => {
    const outdated = (watching: Watching): void =>
      watching.says({ id: -1n, created: true, canceled: 'etcdserver: revision of auth store is old' });
    scene.onCreate = [outdated, outdated, outdated, creates];
    scene.begin();
    await scene.shows('read');
    expect(scene.watch.stale.map(({ code }) => code)).toEqual(['UNAVAILABLE']);
    expect(scene.streams.length).toBe(4);
  });

  it('logs in once if the password is wrong', async () => {
    const isLogin = (path: unknown): boolean => path === '/etcdserverpb.Auth/Authenticate';
    const token = ok(new Writer().string(2, 'token').finish());
    const server = await startFakeServer((stream, headers) => (isLogin(headers[':path']) ? token : scene.answer)(stream, headers));
    const store = await openEtcd({
      endpoints: [`127.0.0.1:${server.port}`],
      credentials: { username: 'alice', password: 'wonderland' },
    });
    const denied = fails(3, 'etcdserver: authentication failed, invalid user ID or password');
    server.answer = (stream, headers) =>
      (isLogin(headers[':path']) ? denied : fails(16, 'etcdserver: invalid auth token'))(stream, headers);
    await expect(store.read('a', { timeoutMs: 5_000 })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    const logins = (): number => server.requests.filter(isLogin).length;
    const before = logins();
    const watch = new Recorder<Entry | undefined>((options) => store.watch('a', { ...options, since: '6' }));
    expect(await watch.ended).toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(logins() - before).toBe(1);
    await store.close();
    await server[Symbol.asyncDispose]();
  });
});
