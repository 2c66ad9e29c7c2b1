/** A session on three real servers. */

import { requireStore, startZookeeperCluster, until, type ZookeeperCluster } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { toStoreError } from '../../src/errors.ts';
import { sync } from '../../src/protocol/nodes.ts';
import { openSession } from '../../src/client/session.ts';
import { CALL, freshPath, make, read, realOptions, Sessions, typesOf } from '../support/real-session.ts';

const PATIENT = { timeoutMs: 30_000 };

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('an ensemble', () => {
  let ensemble: ZookeeperCluster;
  beforeAll(async () => {
    ensemble = await startZookeeperCluster({ readOnly: true });
  });
  afterAll(() => ensemble.stop());

  it('keeps a session while each of its servers is stopped in turn', async () => {
    await using sessions = new Sessions();
    const { session, events } = await sessions.open({ ...realOptions(ensemble.endpoints), timeoutMs: 10_000 });
    const path = freshPath();
    await make(session, path, 'ephemeral');
    const { identity } = session;
    for (const server of ensemble.servers) {
      await server.kill();
      await session.request(sync, '/', PATIENT).catch(() => session.request(sync, '/', PATIENT));
      expect(await read(session, path)).toBe('made');
      await server.restart();
    }
    expect(session.identity).toEqual(identity);
    expect(typesOf(events)).not.toContain('expired');
  });

  it('that has lost its quorum rejects clients in bounded time, although it would serve reads', async () => {
    await using sessions = new Sessions();
    const { session, events } = await sessions.open({ ...realOptions(ensemble.endpoints), timeoutMs: 2_000 });
    const [last, ...others] = ensemble.servers;
    await Promise.all(others.map((server) => server.kill()));
    const failure = async (): Promise<unknown> =>
      openSession(realOptions([last!.url]), CALL).then(
        (opened) => opened.abandon(),
        (error: unknown) => toStoreError(error, 'open'),
      );
    await until(async () => (await failure()) !== undefined, { what: 'the loss of the quorum', withinMs: 20_000 });
    // Now, and when it has become a server for reads.
    for (let tries = 0; tries < 5; tries += 1) {
      expect(await failure()).toMatchObject({ code: expect.stringMatching(/^UNAVAILABLE$|^UNREACHABLE$/), outcome: 'notSent' });
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    await until(() => session.over, { what: 'the end of the session', withinMs: 10_000 });
    expect(events.at(-1)).toMatchObject({ type: 'expired', by: 'clock' });
    await Promise.all(others.map((server) => server.restart()));
    const { session: next } = await sessions.open(realOptions(ensemble.endpoints));
    await make(next, freshPath());
  });
});
