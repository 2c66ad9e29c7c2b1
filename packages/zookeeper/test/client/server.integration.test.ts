/** One real server: its answers, and what happens if it or the link to it fails. */

import { isIncumbentError } from '@incumbent/core';
import { requireStore, startProxy, startZookeeper, until, type ZookeeperServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { toStoreError, isCode } from '../../src/errors.ts';
import { ANY_VERSION, create, exists, getChildren, getData, remove, setData, sync, CREATOR_ONLY, OPEN } from '../../src/protocol/nodes.ts';
import { endSession } from '../../src/client/end-session.ts';
import { multi } from '../../src/protocol/multi.ts';
import type { Operation } from '../../src/protocol/operation.ts';
import { openSession, type ZooKeeperSession } from '../../src/client/session.ts';
import { bytesOf, CALL, freshPath, make, read, realOptions, Sessions, typesOf } from '../support/real-session.ts';

/** An operation that servers do not know. */
const unheardOf: Operation<void, void> = { name: 'unheardOf', type: 77, encode: () => {}, decode: () => undefined };

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'it happened',
    (error: unknown) => toStoreError(error, 'call'),
  );
}

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('a server', () => {
  let server: ZookeeperServer;
  beforeAll(async () => {
    server = await startZookeeper();
  });
  afterAll(() => server.stop());

  it('grants a session’s timeout within its limits', async () => {
    await using sessions = new Sessions();
    const granted = await Promise.all(
      [1, 4_000, 600_000].map(async (timeoutMs) => (await sessions.open({ ...realOptions([server.url]), timeoutMs })).session.timeoutMs),
    );
    expect(granted).toEqual([1_000, 4_000, 10_000]);
  });

  it('creates, changes, reads and deletes nodes at the given versions', async () => {
    await using sessions = new Sessions();
    const { session } = await sessions.open(realOptions([server.url]));
    const path = freshPath();
    const made = await session.request(create, { path, data: bytesOf('one'), acls: OPEN, mode: 'persistent' }, CALL);
    expect(made).toMatchObject({ zxid: made.answer.stat.czxid, answer: { path, stat: { version: 0, ephemeralOwner: 0n } } });
    expect(await failureOf(make(session, path))).toMatchObject({ outcome: 'refused', message: expect.stringContaining('NODEEXISTS') });
    const changed = await session.request(setData, { path, data: bytesOf('two'), version: 0 }, CALL);
    expect(changed).toMatchObject({ zxid: changed.answer.mzxid, answer: { version: 1 } });
    // Version 0 is a version, and not any.
    for (const call of [
      session.request(setData, { path, data: bytesOf('x'), version: 0 }, CALL),
      session.request(remove, { path, version: 0 }, CALL),
    ])
      expect(await failureOf(call)).toMatchObject({ outcome: 'refused', message: expect.stringContaining('BADVERSION') });
    await session.request(sync, '/', CALL);
    expect(await read(session, path)).toBe('two');
    await session.request(remove, { path, version: ANY_VERSION }, CALL);
    await expect(session.request(exists, { path }, CALL)).rejects.toSatisfy((error) => isCode(error, 'NONODE'));
  });

  it('names sequential nodes, and reports the owner of an ephemeral one', async () => {
    await using sessions = new Sessions();
    const { session } = await sessions.open(realOptions([server.url]));
    const path = freshPath();
    await make(session, path);
    const request = { path: `${path}/q-`, data: bytesOf(''), acls: OPEN, mode: 'ephemeralSequential' } as const;
    const answers = await Promise.all([1, 2, 3].map(() => session.request(create, request, CALL)));
    const names = answers.map(({ answer }) => answer.path);
    expect(names).toEqual([0, 1, 2].map((n) => `${path}/q-000000000${n}`));
    expect(answers[0]?.answer.stat.ephemeralOwner).toBe(session.identity?.id);
    const { answer } = await session.request(getChildren, { path }, CALL);
    expect(answer.children.map((name) => `${path}/${name}`).toSorted()).toEqual(names);
  });

  it('applies all changes or none, and reports the one that failed', async () => {
    await using sessions = new Sessions();
    const { session } = await sessions.open(realOptions([server.url]));
    const path = freshPath();
    await make(session, path);
    const child = { path: `${path}/c`, data: bytesOf('c'), acls: OPEN, mode: 'ephemeral' } as const;
    const parts = [{ check: { path, version: 0 } }, { create: child }, { setData: { path, data: bytesOf('k'), version: 0 } }];
    const { zxid, answer } = await session.request(multi, parts, CALL);
    expect(answer).toMatchObject({ done: true, parts: [{}, { path: child.path }, { stat: { version: 1, mzxid: zxid } }] });
    // The answer lacks the stat of the created node; its czxid is the transaction of the multi.
    expect((await session.request(getData, { path: child.path }, CALL)).answer.stat.czxid).toBe(zxid);
    const again = await session.request(multi, [{ setData: { path, data: bytesOf('l'), version: 1 } }, { create: child }], CALL);
    expect(again.answer).toEqual({ done: false, failed: 1, code: -110 });
    expect(await read(session, path)).toBe('k');
    const stale = await session.request(multi, [{ check: { path, version: 0 } }, { delete: { path, version: 1 } }], CALL);
    expect(stale.answer).toEqual({ done: false, failed: 0, code: -103 });
  });

  it('checks with two parts of a multi that a node is absent', async () => {
    await using sessions = new Sessions();
    const { session } = await sessions.open(realOptions([server.url]));
    const path = freshPath();
    const probe = { create: { path, data: bytesOf(''), acls: OPEN, mode: 'persistent' } } as const;
    expect((await session.request(multi, [probe, { delete: { path, version: 0 } }], CALL)).answer).toMatchObject({ done: true });
    await make(session, path);
    expect((await session.request(multi, [probe, { delete: { path, version: 0 } }], CALL)).answer).toEqual({
      done: false,
      failed: 0,
      code: -110,
    });
  });

  it('keeps the nodes of a creator from others, and refuses a creator without an identity', async () => {
    await using sessions = new Sessions();
    const as = async (auth: string): Promise<ZooKeeperSession> =>
      (await sessions.open({ ...realOptions([server.url]), auths: [{ scheme: 'digest', auth }] })).session;
    const path = freshPath();
    const request = { path, data: bytesOf('own'), acls: CREATOR_ONLY, mode: 'persistent' } as const;
    const { session: anonymous } = await sessions.open(realOptions([server.url]));
    expect(await failureOf(anonymous.request(create, request, CALL))).toMatchObject({
      outcome: 'refused',
      message: expect.stringContaining('INVALIDACL'),
    });
    const ann = await as('ann:secret');
    await ann.request(create, request, CALL);
    const denied = { code: 'PERMISSION_DENIED', outcome: 'refused' };
    for (const other of [anonymous, await as('ann:wrong')]) {
      expect(await failureOf(read(other, path))).toMatchObject(denied);
      expect(await failureOf(other.request(setData, { path, data: bytesOf('x'), version: 0 }, CALL))).toMatchObject(denied);
      const parts = [{ setData: { path, data: bytesOf('x'), version: 0 } }];
      expect((await other.request(multi, parts, CALL)).answer).toEqual({ done: false, failed: 0, code: -102 });
    }
    expect(await read(await as('ann:secret'), path)).toBe('own');
  });

  it('does not accept an identity of an unknown scheme', async () => {
    const options = { ...realOptions([server.url]), auths: [{ scheme: 'unheard-of', auth: 'ann' }] };
    expect(await failureOf(openSession(options, CALL))).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
  });

  it('closes the connection over an unknown operation, and the session goes on', async () => {
    await using sessions = new Sessions();
    const { session, events } = await sessions.open(realOptions([server.url]));
    const path = freshPath();
    await make(session, path, 'ephemeral');
    expect(await failureOf(session.request(unheardOf, undefined, CALL))).toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
    await until(() => typesOf(events).at(-1) === 'reattached', { what: 'the next connection' });
    expect(await read(session, path)).toBe('made');
  });

  it('accepts the longest request, and is not sent a longer one', async () => {
    await using sessions = new Sessions();
    const { session } = await sessions.open(realOptions([server.url]));
    const path = freshPath();
    const around = 8 + (4 + path.length) + 4 + (4 + 4 + 4 + 'world'.length + 4 + 'anyone'.length) + 4;
    const longest = new Uint8Array(2 ** 20 - 1 - around);
    await session.request(create, { path, data: longest, acls: OPEN, mode: 'persistent' }, CALL);
    const longer = { path: `${path}2`, data: longest, acls: OPEN, mode: 'persistent' } as const;
    expect(await failureOf(session.request(create, longer, CALL))).toMatchObject({ code: 'TOO_LARGE', outcome: 'refused' });
  });

  it('reports every change below a watch that is set', async () => {
    await using sessions = new Sessions();
    const [{ session: watching }, { session: writing }] = [
      await sessions.open(realOptions([server.url])),
      await sessions.open(realOptions([server.url])),
    ];
    const path = freshPath();
    let changes = 0;
    const listener = { changed: () => (changes += 1), stale: () => {}, ended: () => {} };
    watching.watch(path, 'tree', listener);
    await until(() => changes === 1, { what: 'the watch' });
    const steps = [
      () => make(writing, path),
      () => make(writing, `${path}/a`),
      () => make(writing, `${path}/a/b`),
      () => writing.request(setData, { path: `${path}/a/b`, data: bytesOf('x'), version: 0 }, CALL),
      () => writing.request(remove, { path: `${path}/a/b`, version: ANY_VERSION }, CALL),
    ];
    for (const [index, step] of steps.entries()) {
      await step();
      await until(() => changes >= index + 2, { what: `change ${index}` });
    }
    watching.unwatch(path, listener);
    await watching.request(sync, '/', CALL);
    const before = changes;
    await make(writing, `${path}/c`);
    await watching.request(sync, '/', CALL);
    expect(changes).toBe(before);
  });

  it('lets a client with its identity take over a session, and ends the former connection', async () => {
    await using sessions = new Sessions();
    const { session: own } = await sessions.open(realOptions([server.url]));
    const path = freshPath();
    await make(own, path, 'ephemeral');
    const identity = own.identity!;
    own.abandon();
    const { session: taken } = await sessions.open({ ...realOptions([server.url]), identity });
    expect(await read(taken, path)).toBe('made');
    await taken.close(CALL);
    const { session: other } = await sessions.open(realOptions([server.url]));
    await expect(other.request(exists, { path }, CALL)).rejects.toSatisfy((error) => isCode(error, 'NONODE'));
    expect(await failureOf(openSession({ ...realOptions([server.url]), identity }, CALL))).toMatchObject({
      code: 'LEASE_EXPIRED',
      outcome: 'refused',
    });
  });

  it('ends a session for a client with its identity, although the live owner takes it back', async () => {
    await using sessions = new Sessions();
    for (let round = 0; round < 10; round += 1) {
      const { session: own } = await sessions.open(realOptions([server.url]));
      const path = freshPath();
      await make(own, path, 'ephemeral');
      await endSession(realOptions([server.url]), own.identity!, CALL);
      const { session: other } = await sessions.open(realOptions([server.url]));
      await expect(other.request(exists, { path }, CALL)).rejects.toSatisfy((error) => isCode(error, 'NONODE'));
      await until(() => own.over, { what: 'the owner to notice' });
    }
  });

  it('does not let a client with the id alone take over a session, but ends the owner’s connection', async () => {
    await using sessions = new Sessions();
    const { session, events } = await sessions.open(realOptions([server.url]));
    const path = freshPath();
    await make(session, path, 'ephemeral');
    const identity = { id: session.identity!.id, password: new Uint8Array(16) };
    const refusal = async (): Promise<unknown> => {
      const error = await failureOf(openSession({ ...realOptions([server.url]), identity }, CALL));
      // The owner may be back, and its connection have ended this one, before the server has
      // answered.
      return isIncumbentError(error, 'UNAVAILABLE') ? undefined : error;
    };
    expect(await until(refusal, { what: 'an answer' })).toMatchObject({ code: 'LEASE_EXPIRED' });
    await until(() => typesOf(events).includes('reattached'), { what: 'the next connection' });
    // Every attempt ends the owner's connection, and the last one may do so only now.
    expect(await until(() => read(session, path), { what: 'a read' })).toBe('made');
  });

  it('keeps an abandoned session until its timeout', async () => {
    await using sessions = new Sessions();
    const { session } = await sessions.open({ ...realOptions([server.url]), timeoutMs: 1_000 });
    const { session: other } = await sessions.open(realOptions([server.url]));
    const path = freshPath();
    await make(session, path, 'ephemeral');
    session.abandon();
    expect(await read(other, path)).toBe('made');
    await until(async () => isCode(await other.request(exists, { path }, CALL).catch((error: unknown) => error), 'NONODE'), {
      what: 'the end of the session',
      withinMs: 10_000,
    });
  });

  it('whose answers are lost leaves the outcome unknown, and the session alive', async () => {
    await using sessions = new Sessions();
    await using proxy = await startProxy(server.url);
    const { session, events } = await sessions.open(realOptions([proxy.url]));
    const path = freshPath();
    const lost = proxy.dropNextReply();
    const failure = failureOf(make(session, path, 'ephemeral'));
    expect(await lost).toBe(true);
    expect(await failure).toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown' });
    // It happened, and the same session sees whose it is.
    const { answer } = await session.request(getData, { path }, CALL);
    expect(answer.stat.ephemeralOwner).toBe(session.identity?.id);
    expect(typesOf(events)).toEqual(['connected', 'disconnected', 'reattached']);
  });

  it('behind a dead link is left in time, and found again when the link works', async () => {
    await using sessions = new Sessions();
    await using proxy = await startProxy(server.url);
    const { session, events } = await sessions.open({ ...realOptions([proxy.url]), timeoutMs: 10_000 });
    const path = freshPath();
    await make(session, path, 'ephemeral');
    proxy.blackhole();
    await until(() => typesOf(events).includes('disconnected'), { what: 'the loss of the link', withinMs: 20_000 });
    await proxy.heal();
    await until(() => typesOf(events).at(-1) === 'reattached', { what: 'the next connection', withinMs: 10_000 });
    expect(await read(session, path)).toBe('made');
  });

  it('behind a dead link for longer than the session’s timeout: the client gives up the session by its own clock', async () => {
    await using sessions = new Sessions();
    await using proxy = await startProxy(server.url);
    const { session, events } = await sessions.open({ ...realOptions([proxy.url]), timeoutMs: 1_000 });
    proxy.blackhole();
    await until(() => session.over, { what: 'the end', withinMs: 20_000 });
    expect(typesOf(events)).toEqual(['connected', 'disconnected', 'expired']);
    expect(events.at(-1)).toMatchObject({ by: 'clock' });
  });

  it('that is suspended delays calls no longer than their own time, and serves again', async () => {
    await using sessions = new Sessions();
    const { session } = await sessions.open({ ...realOptions([server.url]), timeoutMs: 10_000 });
    await server.pause();
    // The signal takes a moment to arrive: calls may be answered until then.
    const failure = await until(
      async () => {
        const ending = await failureOf(session.request(sync, '/', { timeoutMs: 300 }));
        return ending !== 'it happened' && { ending };
      },
      { what: 'a call without an answer' },
    );
    await server.resume();
    expect(failure.ending).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
    expect(await failureOf(session.request(sync, '/', CALL))).toBe('it happened');
  });

  // Last: it ends the server that the others use.
  it('that is killed and restarted is found again, with the session and its nodes', async () => {
    await using sessions = new Sessions();
    const { session, events } = await sessions.open({ ...realOptions([server.url]), timeoutMs: 10_000 });
    const path = freshPath();
    await make(session, path, 'ephemeral');
    for (let round = 0; round < 3; round += 1) {
      await server.kill();
      await server.restart();
      expect(await read(session, path)).toBe('made');
    }
    expect(new Set(typesOf(events))).toEqual(new Set(['connected', 'disconnected', 'reattached']));
  });
});
