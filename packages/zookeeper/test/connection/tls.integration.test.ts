/** TLS to a real server that demands a certificate of its clients. */

import { readFile } from 'node:fs/promises';

import { requireStore, startZookeeper, type ZookeeperServer } from '@incumbent/test-support';
import type { TlsOptions } from '@incumbent/network';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { toStoreError } from '../../src/errors.ts';
import { openSession } from '../../src/client/session.ts';
import { CALL, freshPath, make, read, realOptions, Sessions } from '../support/real-session.ts';

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('TLS', () => {
  let server: ZookeeperServer;
  let own: TlsOptions;
  beforeAll(async () => {
    server = await startZookeeper({ tls: 'mutual' });
    const { ca, client } = server.tls!;
    own = { ca: await readFile(ca), cert: await readFile(client.cert, 'utf8'), key: await readFile(client.key) };
  });
  afterAll(() => server.stop());

  function refusal(tls: TlsOptions | undefined, url = server.url): Promise<unknown> {
    return openSession(realOptions([url], tls), CALL).then(
      (session) => session.abandon(),
      (error: unknown) => toStoreError(error, 'open'),
    );
  }

  it('carries calls, long ones too', async () => {
    await using sessions = new Sessions();
    const { session } = await sessions.open(realOptions([server.url], own));
    const path = freshPath();
    await make(session, path);
    expect(await read(session, path)).toBe('made');
  });

  it('does not trust a certificate of an unknown authority', async () => {
    const { ca: _, ...rest } = own;
    expect(await refusal(rest)).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
    expect(await refusal({ ...rest, rejectUnauthorized: false })).toBeUndefined();
  });

  it('does not trust a certificate of another name', async () => {
    const failure = await refusal({ ...own, servername: 'other.example.org' });
    expect(failure).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused', message: expect.stringContaining('other.example.org') });
    expect(await refusal({ ...own, servername: 'localhost' })).toBeUndefined();
  });

  it('is refused to a client without a certificate', async () => {
    expect(await refusal({ ca: own.ca! })).toMatchObject({ code: 'UNAUTHENTICATED', outcome: 'refused' });
  });

  it('is required: a client without TLS fails in bounded time', async () => {
    expect(await refusal(undefined)).toMatchObject({ outcome: expect.stringMatching(/notSent|refused/) });
  });
});
