/** `incumbent serve` as a process, on a real store. */

import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';

import {
  freePort,
  listenAnywhere,
  makeCertificates,
  makeScratch,
  type Scratch,
  spawnScript,
  type ScriptProcess,
  until,
} from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { incumbent, mainCommand, says, startCommand } from '../support/command.ts';
import { ApiClient, type ApiAnswer, type ClientTls } from './api-client.ts';

const MAIN = new URL('../../src/main.ts', import.meta.url);
const WAIT_MS = 60_000;
const PATH = '/elections/e/candidacies/a';

let scratch: Scratch;
let store: string;
const stack: AsyncDisposable[] = [];
beforeEach(async () => {
  scratch = await makeScratch('serve-command');
  store = `sqlite:${join(scratch.path, 'state.db')}`;
});
afterEach(async () => {
  for (const each of stack.splice(0).toReversed()) await each[Symbol.asyncDispose]();
  await scratch.remove();
});

interface Served {
  readonly process: ScriptProcess;
  /** What the command says that it serves. */
  readonly url: string;
}

/** Starts the command at a free port, and waits until it serves. */
async function serve(member: string, options: readonly string[] = [], host = '127.0.0.1'): Promise<Served> {
  const listen = options.includes('--listen') ? [] : ['--listen', `${host}:${await freePort()}`];
  const process = await spawnScript(MAIN, { args: ['serve', '--member', member, ...listen, ...options], env: { INCUMBENT_STORE: store } });
  stack.push(process);
  await says(process, 'serves ');
  const url = process.output.map((line) => /serves (\S+) as/.exec(line)?.[1]).find((each) => each !== undefined);
  return { process, url: url ?? '' };
}

/** Creates a candidacy and waits until it leads. */
async function leads(api: ApiClient, path: string, settings: object = {}): Promise<{ readonly secret: string; readonly term: string }> {
  const { status, body } = await api.call('PUT', path, { body: settings });
  expect(status).toBe(201);
  const secret = String(body['secret']);
  const find = async (): Promise<string | false> => {
    const { body: now } = await api.call('GET', path, { secret });
    return now['leads'] === true && String(now['term']);
  };
  return { secret, term: await until(find, { what: `${path} leads`, withinMs: WAIT_MS }) };
}

/** Waits until `GET /` gives an answer that fits. */
async function answers(api: ApiClient, wanted: Readonly<Record<string, unknown>>): Promise<void> {
  const fits = ({ body }: ApiAnswer): boolean => Object.entries(wanted).every(([name, value]) => body[name] === value);
  await until(async () => fits(await api.call('GET', '/')), { what: `GET / answers ${JSON.stringify(wanted)}`, withinMs: WAIT_MS });
}

describe('incumbent serve with TLS', { timeout: 180_000 }, () => {
  it('serves those who trust its authority, and nobody without TLS', async () => {
    const { ca, server } = await makeCertificates(scratch.path, 'client');
    const { url } = await serve('s1', ['--tls-cert', server.cert, '--tls-key', server.key]);
    expect(url).toMatch(/^https:/);
    const api = new ApiClient(url, { ca: readFileSync(ca, 'utf8') });
    expect((await leads(api, PATH)).term).toBe('1');
    await expect(fetch(url.replace('https:', 'http:'))).rejects.toThrow('fetch failed');
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });

  it('serves other machines that have a certificate of the authority of its clients, and no others', async () => {
    const { ca, server, client } = await makeCertificates(scratch.path, 'client');
    const other = await makeScratch('serve-other-authority');
    stack.push({ [Symbol.asyncDispose]: () => other.remove() });
    const stranger = await makeCertificates(other.path, 'client');
    const options = ['--tls-cert', server.cert, '--tls-key', server.key, '--tls-client-ca', ca];
    const { url } = await serve('s1', options, '0.0.0.0');
    const reached = url.replace('0.0.0.0', '127.0.0.1');
    const tls = (pair?: { readonly cert: string; readonly key: string }): ClientTls => ({
      ca: readFileSync(ca, 'utf8'),
      ...(pair === undefined ? {} : { cert: readFileSync(pair.cert, 'utf8'), key: readFileSync(pair.key, 'utf8') }),
    });
    const api = new ApiClient(reached, tls(client));
    const { secret } = await leads(api, PATH);
    expect((await api.call('GET', '/healthz', { headers: { host: 'sidecar.example' } })).status).toBe(200);
    for (const pair of [undefined, stranger.client]) {
      const refused = new ApiClient(reached, tls(pair));
      await expect(refused.call('GET', PATH, { secret })).rejects.toThrow(/alert|socket|ECONNRESET|EPIPE|certificate/);
    }
    expect((await api.call('GET', PATH, { secret })).body['leads']).toBe(true);
  });

  it('does not listen beyond loopback without a token or certificates of clients', async () => {
    const { server } = await makeCertificates(scratch.path, 'client');
    const listen = ['serve', '--listen', `0.0.0.0:${await freePort()}`, '--store', store];
    for (const options of [[], ['--tls-cert', server.cert, '--tls-key', server.key]]) {
      const { code, output } = await incumbent([...listen, ...options]);
      expect([code, output]).toEqual([2, expect.stringContaining('it needs --token-file or --tls-client-ca')]);
    }
    const token = join(scratch.path, 'token');
    writeFileSync(token, 'a-long-secret-token\n');
    const { url } = await serve('s1', ['--token-file', token], '0.0.0.0');
    const api = new ApiClient(url.replace('0.0.0.0', '127.0.0.1'));
    expect((await api.call('PUT', PATH)).status).toBe(401);
    expect((await api.call('PUT', PATH, { headers: { authorization: 'Bearer a-long-secret-token' } })).status).toBe(201);
  });
});

/** The health of an application. */
class Application implements AsyncDisposable {
  isHealthy = true;
  readonly #server: Server = createServer((_request, response) => response.writeHead(this.isHealthy ? 200 : 503).end());

  async start(): Promise<string> {
    const { port } = await listenAnywhere(this.#server);
    return `http://127.0.0.1:${port}/healthz`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe('incumbent serve with --election', { timeout: 180_000 }, () => {
  it('leads while the application is healthy, and gives the leadership to a sidecar whose application is', async () => {
    const [one, two] = [new Application(), new Application()];
    stack.push(one, two);
    const first = new ApiClient((await serve('pod-1', ['--election', 'app', '--health', await one.start()])).url);
    await answers(first, { name: 'pod-1', leads: true });
    const second = new ApiClient((await serve('pod-2', ['--election', 'app', '--health', await two.start()])).url);
    await answers(second, { name: 'pod-1', leads: false });
    one.isHealthy = false;
    await answers(second, { name: 'pod-2', leads: true });
    await answers(first, { name: 'pod-2', leads: false });
    expect((await first.call('GET', '/readyz')).status).toBe(200);
    one.isHealthy = true;
    two.isHealthy = false;
    await answers(first, { name: 'pod-1', leads: true });
    await answers(second, { name: 'pod-1', leads: false });
  });

  it('does not campaign before the application is healthy', async () => {
    const app = new Application();
    stack.push(app);
    app.isHealthy = false;
    const { process, url } = await serve('pod-1', ['--election', 'app', '--health', await app.start()]);
    const api = new ApiClient(url);
    expect((await api.call('GET', '/')).body).toEqual({ name: '', leads: false, validForMs: 0 });
    app.isHealthy = true;
    await answers(api, { name: 'pod-1', leads: true });
    expect(process.output.some((line) => line.includes('the application is healthy'))).toBe(true);
  });
});

describe('incumbent serve and SIGTERM', { timeout: 180_000 }, () => {
  it('releases the keys when the client has said that its work has stopped', async () => {
    const one = await serve('s1', ['--ttl', '30s', '--drain', '10s']);
    const api = new ApiClient(one.url);
    const { secret, term } = await leads(api, PATH);
    const stream = await api.events(`${PATH}/events`, { secret });
    const other = new ApiClient((await serve('s2')).url);
    const made = await other.call('PUT', '/elections/e/candidacies/b');
    one.process.sigterm();
    expect(await stream.next('ended')).toMatchObject({ term, lost: false });
    expect((await api.call('GET', PATH, { secret })).body).toMatchObject({ state: 'stopping', leads: false, validForMs: 0 });
    const waiting = await other.call('GET', '/elections/e/candidacies/b', { secret: String(made.body['secret']) });
    expect(waiting.body['leads']).toBe(false);
    expect((await api.call('POST', `${PATH}/acknowledge`, { secret, body: { term } })).status).toBe(200);
    expect(await stream.next('drained')).toMatchObject({ term, acknowledged: true });
    expect(await stream.next('over')).toMatchObject({ reason: 'closing' });
    await stream.ended;
    expect(await one.process.exited).toBe(0);
    const next = async (): Promise<boolean> =>
      (await other.call('GET', '/elections/e/candidacies/b', { secret: String(made.body['secret']) })).body['leads'] === true;
    await until(next, { what: 'the other candidacy leads', withinMs: WAIT_MS });
  });

  it('waits for the drain if the client does not say so', async () => {
    const { process, url } = await serve('s1', ['--drain', '500ms']);
    const api = new ApiClient(url);
    const { secret, term } = await leads(api, PATH);
    const stream = await api.events(`${PATH}/events`, { secret });
    process.sigterm();
    expect(await stream.next('drained')).toMatchObject({ term, acknowledged: false });
    expect(await process.exited).toBe(0);
    const { url: next } = await serve('s2');
    expect((await leads(new ApiClient(next), PATH)).term).toBe('2');
  });
});

describe('incumbent serve and groups', { timeout: 180_000 }, () => {
  it('is in a group while its client renews, and out of it when the client or the sidecar ends', async () => {
    const one = await serve('s1');
    const [api, other] = [new ApiClient(one.url), new ApiClient((await serve('s2')).url)];
    const members = async (): Promise<readonly unknown[]> => {
      const { members: found } = (await other.call('GET', '/groups/workers')).body;
      return Array.isArray(found) ? found : [];
    };
    const are = (wanted: readonly object[]): Promise<true> =>
      until(async () => JSON.stringify(await members()) === JSON.stringify(wanted), { what: JSON.stringify(wanted), withinMs: WAIT_MS });
    const made = await api.call('PUT', '/groups/workers/membership', { body: { value: { port: 80 } } });
    await other.call('PUT', '/groups/workers/membership', { body: { renewWithinMs: 3_600_000 } });
    const [first, second] = [
      { member: 's1', value: { port: 80 } },
      { member: 's2', value: null },
    ];
    const both = async (): Promise<boolean> => (await members()).length === 2;
    await until(both, { what: 'both are in the group', withinMs: WAIT_MS });
    expect(await members()).toEqual(expect.arrayContaining([first, second]));
    const headers = { 'membership-secret': String(made.body['secret']) };
    expect((await api.call('DELETE', '/groups/workers/membership', { headers })).status).toBe(204);
    await are([second]);
    await api.call('PUT', '/groups/workers/membership', { body: { renewWithinMs: 300 } });
    // Nobody renews it, so the next client can join.
    const body = { value: { port: 80 }, renewWithinMs: 3_600_000 };
    const joins = async (): Promise<boolean> => (await api.call('PUT', '/groups/workers/membership', { body })).status === 201;
    await until(joins, { what: 'the next client joins', withinMs: WAIT_MS });
    await are([second, first]);
    one.process.sigterm();
    expect(await one.process.exited).toBe(0);
    await are([second]);
  });
});

describe('the log of incumbent serve', { timeout: 180_000 }, () => {
  it('says that a client that led was silent', async () => {
    const { process, url } = await serve('s1');
    await leads(new ApiClient(url), PATH, { renewWithinMs: 300 });
    await says(process, 'the candidacy "a" of "e" is over: no request with its secret has come for 300ms');
    await says(process, '"a" leads "e" no more in term 1: resigned, because its candidacy is over (expired)');
  });
});

describe('incumbent serve with few file descriptors', { timeout: 180_000 }, () => {
  it('says once that it accepts no more connections, and serves those that it has', async () => {
    const socket = join(scratch.path, 's.sock');
    const limited = ['sh', '-c', 'ulimit -n 80; exec "$@"', 'sh', ...mainCommand('serve', '--listen', `unix:${socket}`)];
    const process = await startCommand(limited, { INCUMBENT_STORE: store });
    // SIGTERM, which the process passes on.
    const stop = async (): Promise<void> => {
      process.sigterm();
      await process.exited;
    };
    stack.push({ [Symbol.asyncDispose]: stop });
    await says(process, 'serves ');
    const stream = await new ApiClient(`unix:${socket}`).events('/elections/e/events');
    await stream.next('vacant');
    const clients = new Set<Socket>();
    let closed = 0;
    for (let i = 0; i < 120; i += 1) {
      const client = connect(socket).resume();
      clients.add(client);
      client.on('error', () => {}).on('close', () => (closed += 1));
    }
    await says(process, 'TOO_MANY: 40 connections are open, and the server accepts no more: this process may open 80 files (ulimit -n)');
    // One of the 40 is the stream.
    await until(() => closed >= 81, { what: 'the other connections are closed', withinMs: WAIT_MS });
    for (const client of clients) client.destroy();
    const api = new ApiClient(`unix:${socket}`);
    await until(
      () =>
        api.call('GET', '/healthz').then(
          ({ status }) => status === 200,
          () => false,
        ),
      {
        what: 'it serves new clients',
        withinMs: WAIT_MS,
      },
    );
    await leads(api, PATH);
    await stream.next('leader');
    expect(process.output.filter((line) => line.includes('TOO_MANY'))).toHaveLength(1);
  });
});

describe('incumbent serve at a Unix socket', { timeout: 180_000 }, () => {
  it('serves the API there, and a killed process does not keep the socket', async () => {
    const socket = join(scratch.path, 's.sock');
    const { process, url } = await serve('s1', ['--listen', `unix:${socket}`]);
    expect(url).toBe(`unix:${socket}`);
    expect((await leads(new ApiClient(url), PATH)).term).toBe('1');
    process.sigkill();
    await process.exited;
    const { url: again } = await serve('s2', ['--listen', `unix:${socket}`]);
    expect((await new ApiClient(again).call('GET', '/healthz')).status).toBe(200);
  });
});
