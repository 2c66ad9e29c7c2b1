import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ElectionAdmin, Member, type Store } from '@incumbent/core';
import { openMemory } from '@incumbent/memory';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';

import { API_ERRORS } from '../../src/serve/api-error.ts';
import { MAX_BODY_BYTES } from '../../src/serve/http/requests.ts';
import { type Pages, routesOf } from '../../src/serve/http/routes.ts';
import type { ApiServerOptions, ApiServer } from '../../src/serve/http/server.ts';
import { OwnCandidacy } from '../../src/serve/own-candidacy.ts';
import { Sidecar, type SidecarOptions } from '../../src/serve/sidecar.ts';
import { answered, ApiClient, type ApiAnswer, description, errorOf } from './api-client.ts';
import { startApi } from './api-server.ts';

const PATH = '/elections/e/candidacies/a';
const json = (body: object, status = 200): { readonly status: number; readonly body: object } => ({ status, body });

let names = 0;
let name: string;
let store: Store;
let sidecar: Sidecar;
let server: ApiServer;
let api: ApiClient;
const closers: (() => Promise<void>)[] = [];

async function start(options: Partial<ApiServerOptions> = {}, more: Partial<Pages> = {}): Promise<ApiServer> {
  const started = await startApi(() => sidecar, options, more);
  closers.push(() => started.close());
  return started;
}

/** Starts both anew. The drain is short, as tests wait for it at their end. */
async function restart(more: Partial<SidecarOptions> = {}): Promise<void> {
  sidecar = new Sidecar(store, { memberId: 's1', ttlMs: 20_000, drainMs: 200, ...more });
  server = await start();
  api = new ApiClient(server.url);
}

beforeEach(async () => {
  name = `memory:serve-${(names += 1)}`;
  store = await openMemory(name);
  await restart();
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  await sidecar.close();
  await store.close();
});

/** A candidacy that leads. */
async function leads(path = PATH, settings: object = {}): Promise<{ readonly secret: string; readonly term: string }> {
  return api.leads(path, settings);
}

/** Another member of the same store, which waits in the queue of the election `e`. */
async function waits(memberId: string): Promise<Member> {
  const other = await openMemory(name);
  const member = new Member(other, { memberId, ttlMs: 10_000 });
  closers.push(async () => {
    await member.close();
    await other.close();
  });
  member
    .election('e')
    .campaign()
    .catch(() => {});
  while (!(await member.election('e').candidates()).some((candidate) => candidate.memberId === memberId)) await new Promise(setImmediate);
  return member;
}

describe('a candidacy', () => {
  it('is created with a secret that no later answer shows', async () => {
    const { secret, term } = await leads(PATH, { value: { url: 'http://a' }, renewWithinMs: 5_000 });
    const again = await api.call('PUT', PATH, { secret });
    expect(again.body).toMatchObject({ state: 'leading', leads: true, term, renewWithinMs: 5_000 });
    expect(again.text).not.toContain(secret);
    expect((await api.call('PUT', PATH, { secret, body: { renewWithinMs: null } })).body['renewWithinMs']).toBeNull();
  });

  it('cannot be read, renewed or ended by another client', async () => {
    const { term } = await leads();
    const again = await api.call('PUT', PATH);
    expect(errorOf(again)).toEqual([409, 'CANDIDACY_EXISTS']);
    expect(again.body['message']).toContain('which is over when no request with its secret has come for 15s: use another id');
    for (const secret of ['', 'guess']) {
      expect(errorOf(await api.call('PUT', PATH, { secret }))).toEqual([403, 'WRONG_SECRET']);
      expect(errorOf(await api.call('GET', PATH, { secret }))).toEqual([403, 'WRONG_SECRET']);
      expect(errorOf(await api.call('DELETE', PATH, { secret }))).toEqual([403, 'WRONG_SECRET']);
      expect(errorOf(await api.call('POST', `${PATH}/resign`, { secret, body: { term } }))).toEqual([403, 'WRONG_SECRET']);
    }
    expect(errorOf(await api.call('DELETE', PATH))).toEqual([403, 'WRONG_SECRET']);
  });

  it('is over after DELETE, and its id is free', async () => {
    const { secret } = await leads();
    expect((await api.call('DELETE', PATH, { secret })).status).toBe(204);
    expect(errorOf(await api.call('GET', PATH, { secret }))).toEqual([404, 'NO_SUCH_CANDIDACY']);
    expect((await api.call('GET', '/elections/e/leader')).body).toEqual({ election: 'e', state: 'vacant' });
    expect((await leads()).term).toBe('2');
  });

  it('has a stream of its events, with whose end it is over', async () => {
    // Time to acknowledge, on a busy machine too.
    await sidecar.close();
    await restart({ drainMs: 5_000 });
    const { body } = await api.call('PUT', PATH, { body: { renewWithinMs: null } });
    const secret = String(body['secret']);
    const stream = await api.events(`${PATH}/events`, { secret });
    const { term } = await stream.next('elected');
    await new ElectionAdmin(store, 'e').stepDown(BigInt(String(term)));
    expect(await stream.next('ended')).toEqual({ event: 'ended', term, reason: 'steppedDown', lost: false });
    expect((await api.call('GET', PATH, { secret })).body).toMatchObject({
      ...{ state: 'stopping', leads: false, validForMs: 0, term, awaits: 'acknowledge' },
    });
    const acknowledged = await api.call('POST', `${PATH}/acknowledge`, { secret, body: { term } });
    expect([acknowledged.status, acknowledged.body['awaits']]).toEqual([200, undefined]);
    expect(await stream.next('drained')).toEqual({ event: 'drained', term, acknowledged: true });
    expect(
      await stream.next(
        'elected',
        stream.events.findIndex(({ event }) => event === 'drained'),
      ),
    ).toEqual({ event: 'elected', term: '2' });
    stream.close();
    while (sidecar.find('e', 'a') !== undefined) await new Promise(setImmediate);
    // A client that starts again under its id need not wait.
    expect((await api.call('PUT', PATH)).status).toBe(201);
  });

  it('ends with the sidecar, which tells it', async () => {
    const { secret, term } = await leads();
    const stream = await api.events(`${PATH}/events`, { secret });
    const closed = sidecar.close();
    await stream.next('ended');
    await api.call('POST', `${PATH}/acknowledge`, { secret, body: { term } });
    expect(await stream.next('over')).toEqual({ event: 'over', reason: 'closing' });
    await stream.ended;
    await closed;
  });
});

describe('a term', () => {
  it('ends with resign, after which the candidacy waits again', async () => {
    const { secret, term } = await leads();
    const member = await waits('other');
    expect((await api.call('POST', `${PATH}/resign`, { secret, body: { term } })).body).toMatchObject({ state: 'waiting', leads: false });
    while (member.election('e').leadership === undefined) await new Promise(setImmediate);
    expect((await api.call('GET', '/elections/e/leader')).body).toMatchObject({
      state: 'leader',
      member: 'other',
      previous: { reason: 'resigned' },
    });
    expect(errorOf(await api.call('POST', `${PATH}/resign`, { secret, body: { term } }))).toEqual([409, 'OTHER_TERM']);
    expect((await api.call('POST', `${PATH}/acknowledge`, { secret, body: { term } })).status).toBe(200);
  });

  it('is handed over to a candidate, and goes on if there is none', async () => {
    const { secret, term } = await leads();
    const member = await waits('other');
    const nobody = await api.call('POST', `${PATH}/handover`, { secret, body: { term, to: 'nobody' } });
    expect(errorOf(nobody)).toEqual([409, 'NO_SUCH_CANDIDATE']);
    expect((await api.call('GET', PATH, { secret })).body['leads']).toBe(true);
    expect(errorOf(await api.call('POST', `${PATH}/acknowledge`, { secret, body: { term } }))).toEqual([409, 'STILL_LEADS']);
    expect((await api.call('POST', `${PATH}/handover`, { secret, body: { term, to: 'other' } })).status).toBe(200);
    expect(member.election('e').leadership?.term).toBe(2n);
    expect((await api.call('GET', '/elections/e/candidates')).body).toMatchObject({
      candidates: [{ member: 'other', leads: true }, { member: 's1' }],
    });
  });

  it('publishes values, which streams of the election show', async () => {
    const stream = await api.events('/elections/e/events');
    const { secret, term } = await leads(PATH, { value: 1 });
    expect((await api.call('POST', `${PATH}/publish`, { secret, body: { term, value: { port: 80 } } })).status).toBe(200);
    while (!stream.events.some(({ value }) => JSON.stringify(value) === '{"port":80}')) await stream.next('leader', stream.events.length);
    expect(stream.events.at(-1)).toMatchObject({ event: 'leader', term, member: 's1' });
    expect((await api.call('GET', '/elections/e/leader')).body['value']).toEqual({ port: 80 });
    expect(errorOf(await api.call('POST', `${PATH}/publish`, { secret, body: { term } }))).toEqual([400, 'BAD_REQUEST']);
    stream.close();
  });

  it('writes keys, which the store refuses once another leader has been elected', async () => {
    const { secret, term } = await leads();
    const swap = (changes: readonly object[], of = term): Promise<ApiAnswer> =>
      api.call('POST', `${PATH}/swap`, { secret, body: { term: of, changes } });
    const made = await swap([{ key: 'app/x', expect: null, put: 'one' }]);
    expect(made.body).toMatchObject({ swapped: true });
    expect((await swap([{ key: 'app/x', expect: null, put: 'two' }])).body).toMatchObject({
      swapped: false,
      failed: [{ index: 0, current: { value: 'one' } }],
    });
    const { body } = await api.call('GET', '/keys?key=app/x');
    expect(body).toMatchObject({ key: 'app/x', value: 'one' });
    expect((await swap([{ key: 'app/x', expect: body['revision'], putBase64: '/w==' }])).body['swapped']).toBe(true);
    const { body: bytes } = await api.call('GET', '/keys?key=app%2Fx');
    expect(bytes['valueBase64']).toBe('/w==');
    expect(
      (
        await swap([
          { key: 'app/x', expect: bytes['revision'], delete: true },
          { key: 'app/y', expect: null },
        ])
      ).body,
    ).toEqual({ swapped: true, revisions: [null, null] });
    expect(errorOf(await api.call('GET', '/keys?key=app/x'))).toEqual([404, 'NOT_FOUND']);
    expect(errorOf(await api.call('GET', '/keys?key=elections/e/leader'))).toEqual([403, 'FORBIDDEN']);
    expect(errorOf(await swap([{ key: 'elections/e/leader', expect: null, put: '' }]))).toEqual([400, 'INVALID_OPTION']);
    for (const putBase64 of ['this is *not* base64!', '/w', '/w==\n', '_w==', '/x=='])
      expect(errorOf(await swap([{ key: 'app/x', expect: null, putBase64 }]))).toEqual([400, 'BAD_REQUEST']);
    expect(errorOf(await swap([{ key: 'app/x', expect: null, put: '' }], '7'))).toEqual([409, 'OTHER_TERM']);
    const many = Array.from({ length: store.capabilities.maxChanges + 1 }, (_, i) => ({ key: `app/${i}`, expect: null }));
    expect(errorOf(await swap(many))).toEqual([413, 'TOO_LARGE']);
  });
});

describe('a request', () => {
  it.each([
    ['a body that is no JSON', { body: '{' }, [400, 'BAD_REQUEST']],
    ['a body that is no object', { body: '[]' }, [400, 'BAD_REQUEST']],
    ['an unknown field', { body: { renewWithin: 1 } }, [400, 'BAD_REQUEST']],
    ['a time out of range', { body: { renewWithinMs: 1 } }, [400, 'BAD_REQUEST']],
    ['a body of another type', { body: '{}', headers: { 'content-type': 'text/plain' } }, [415, 'NOT_JSON']],
    ['a body that is too long', { body: { value: 'x'.repeat(MAX_BODY_BYTES) } }, [413, 'BODY_TOO_LARGE']],
    ['an Origin', { headers: { origin: 'http://localhost' } }, [403, 'FORBIDDEN']],
    ['the mark of a browser', { headers: { 'sec-fetch-site': 'same-origin' } }, [403, 'FORBIDDEN']],
    ['a foreign Host', { headers: { host: 'evil.example:4040' } }, [403, 'FORBIDDEN']],
  ] as const)('with %s is refused', async (_what, call, expected) => {
    expect(errorOf(await api.call('PUT', PATH, call))).toEqual(expected);
    expect(sidecar.size).toBe(0);
  });

  it('with a wrong name is refused', async () => {
    expect(errorOf(await api.call('PUT', '/elections/a%20b/candidacies/a'))).toEqual([400, 'INVALID_NAME']);
    expect(errorOf(await api.call('PUT', '/elections/e/candidacies/a%2Fb'))).toEqual([400, 'INVALID_NAME']);
    expect(errorOf(await api.call('PUT', '/elections/%zz/candidacies/a'))).toEqual([400, 'BAD_REQUEST']);
    expect(errorOf(await api.call('GET', '/elections/%20/leader'))).toEqual([400, 'INVALID_NAME']);
    expect(errorOf(await api.call('GET', '/elections/a%20b/events'))).toEqual([400, 'INVALID_NAME']);
    expect(errorOf(await api.call('GET', '/elections/e/candidacies/a', { secret: 'x' }))).toEqual([404, 'NO_SUCH_CANDIDACY']);
  });

  it('for a stream of one more election than the sidecar may watch is refused', async () => {
    await sidecar.close();
    await restart({ maxWatched: 1 });
    const streams = [await api.events('/elections/e/events'), await api.events('/elections/e/events')];
    expect(errorOf(await api.call('GET', '/elections/f/events'))).toEqual([429, 'TOO_MANY']);
    for (const stream of streams) stream.close();
  });

  it('for another path or method is answered with what there is', async () => {
    const other = await fetch(new URL('/nothing', server.url));
    expect([other.status, await other.json()]).toMatchObject([404, { code: 'NOT_FOUND' }]);
    const method = await fetch(new URL('/groups/g/membership', server.url), { method: 'PATCH' });
    expect([method.status, method.headers.get('allow')]).toEqual([405, 'PUT, GET, HEAD, DELETE']);
    expect(await method.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED', message: 'the path has PUT, GET, DELETE' });
  });

  it('while the store fails is answered with the code and the outcome', async () => {
    await store.close();
    const { status, body } = await api.call('GET', '/elections/e/leader');
    expect([status, body]).toMatchObject([503, { code: 'STORE_CLOSED', outcome: expect.stringMatching(/^(notSent|refused)$/) }]);
  });

  it('needs the token if there is one, except for probes', async () => {
    const { url } = await start({ access: { isLocal: false, token: 'a-long-secret-token' } });
    const client = new ApiClient(url);
    expect(errorOf(await client.call('PUT', PATH))).toEqual([401, 'UNAUTHORIZED']);
    expect(errorOf(await client.call('GET', '/metrics', { headers: { authorization: 'Bearer guess' } }))).toEqual([401, 'UNAUTHORIZED']);
    expect((await client.call('GET', '/healthz')).status).toBe(200);
    const headers = { authorization: 'Bearer a-long-secret-token', host: 'sidecar.example' };
    expect((await client.call('PUT', PATH, { headers })).status).toBe(201);
  });
});

describe('the sidecar', () => {
  it('has probes, metrics and its own description', async () => {
    expect((await api.call('GET', '/healthz')).status).toBe(200);
    expect((await api.call('GET', '/readyz')).status).toBe(503);
    const ready = await start({}, { ready: () => json({ ready: true }) });
    expect((await new ApiClient(ready.url).call('GET', '/readyz')).status).toBe(200);
    expect((await api.call('GET', '/metrics')).text).toBe('# none\n');
    expect((await api.call('GET', '/openapi.json')).body).toEqual(description);
  });

  it('says in the form of the leader-elector sidecar who leads the election of its own campaign', async () => {
    expect(errorOf(await api.call('GET', '/'))).toEqual([404, 'NOT_FOUND']);
    const own = new OwnCandidacy(sidecar, 'e', undefined, () => {});
    const client = new ApiClient((await start({}, { ownLeader: () => own.answer() })).url);
    expect((await client.call('GET', '/')).body).toEqual({ name: '', leads: false, validForMs: 0 });
    own.setHealthy(true);
    while ((await client.call('GET', '/')).body['leads'] !== true) await new Promise(setImmediate);
    const { body } = await client.call('GET', '/');
    expect(body).toEqual({ name: 's1', leads: true, term: '1', validForMs: expect.any(Number) });
    const member = await waits('other');
    own.setHealthy(false);
    // The other member may lead before the answer is made.
    const after = (await client.call('GET', '/')).body;
    expect(after).toMatchObject({ leads: false, validForMs: 0 });
    expect(['', 'other']).toContain(after['name']);
    while (member.election('e').leadership === undefined) await new Promise(setImmediate);
    expect((await client.call('GET', '/')).body).toMatchObject({ name: 'other', leads: false, term: '2' });
  });

  it('joins a group, lists its members, shows another value, and leaves it', async () => {
    const made = await api.call('PUT', '/groups/g/membership', { body: { value: 7, renewWithinMs: 5_000 } });
    expect([made.status, made.body]).toMatchObject([201, { group: 'g', member: 's1', renewWithinMs: 5_000 }]);
    const headers = { 'membership-secret': String(made.body['secret']) };
    while ((await api.call('GET', '/groups/g/membership', { headers })).body['joined'] !== true) await new Promise(setImmediate);
    expect((await api.call('GET', '/groups/g')).body).toEqual({ group: 'g', members: [{ member: 's1', value: 7 }] });
    expect((await api.call('PUT', '/groups/g/membership', { headers, body: { value: 'new' } })).status).toBe(200);
    while (!JSON.stringify((await api.call('GET', '/groups/g')).body).includes('"new"')) await new Promise(setImmediate);
    expect((await api.call('DELETE', '/groups/g/membership', { headers })).status).toBe(204);
    expect((await api.call('GET', '/groups/g')).body).toEqual({ group: 'g', members: [] });
    expect(errorOf(await api.call('GET', '/groups/g/membership', { headers }))).toEqual([404, 'NO_SUCH_MEMBERSHIP']);
  });

  it('keeps a membership from other clients', async () => {
    const path = '/groups/g/membership';
    await api.call('PUT', path);
    expect(errorOf(await api.call('PUT', path))).toEqual([409, 'MEMBERSHIP_EXISTS']);
    for (const headers of [{}, { 'membership-secret': 'guess' }])
      for (const method of ['GET', 'DELETE']) expect(errorOf(await api.call(method, path, { headers }))).toEqual([403, 'WRONG_SECRET']);
    expect(errorOf(await api.call('PUT', '/groups/h/membership', { body: { renewWithinMs: null } }))).toEqual([400, 'BAD_REQUEST']);
    expect(errorOf(await api.call('PUT', '/groups/a%20b/membership'))).toEqual([400, 'INVALID_NAME']);
    expect(errorOf(await api.call('GET', '/groups/%20'))).toEqual([400, 'INVALID_NAME']);
  });

  it('serves a Unix socket that only this user can open, and replaces neither a served one nor another file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'serve-'));
    try {
      const path = join(folder, 's.sock');
      const first = await start({ address: { path } });
      expect(first.url).toBe(`unix:${path}`);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect((await new ApiClient(first.url).call('GET', '/healthz')).status).toBe(200);
      await expect(start({ address: { path } })).rejects.toMatchObject({ code: 'EADDRINUSE' });
      await first.close();
      await writeFile(path, '');
      await expect(start({ address: { path } })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('the description', () => {
  const operations = Object.values(description.paths).flatMap((methods) => Object.values(methods));

  it('has the paths and the methods of the code, and no others', () => {
    const described = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const pages = { health: () => json({}), ready: () => json({}), metrics: () => json({}), ownLeader: undefined };
    expect(
      routesOf(() => sidecar, pages)
        .map(({ method, path }) => `${method} ${path}`)
        .toSorted(),
    ).toEqual(described.toSorted());
  });

  it('names the codes of the code', () => {
    const text = JSON.stringify(description);
    const missing = Object.keys(API_ERRORS).filter((code) => !text.includes(`\`${code}\``));
    expect(missing).toEqual(['METHOD_NOT_ALLOWED']);
  });

  afterAll(() => {
    const untested = operations.filter(({ operationId }) => ![200, 201, 204].some((status) => answered.has(`${operationId} ${status}`)));
    expect(untested.map(({ operationId }) => operationId)).toEqual([]);
  });
});
