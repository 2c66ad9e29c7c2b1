import { Agent, request as send } from 'node:http';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { type JsonObject, readJson } from '../../src/serve/http/requests.ts';
import { ApiServer } from '../../src/serve/http/server.ts';

let server: ApiServer;
/** Resolves when the server begins to read the body of `PUT /`. */
let begun: PromiseWithResolvers<void>;
/** What the server reads. */
let body: PromiseWithResolvers<JsonObject>;
let failures: unknown[];
/** How many event streams have begun. */
let streams: number;
beforeEach(async () => {
  begun = Promise.withResolvers();
  body = Promise.withResolvers();
  failures = [];
  streams = 0;
  server = await ApiServer.start({
    address: { host: '127.0.0.1', port: 0 },
    access: { isLocal: true },
    routes: [
      {
        method: 'PUT',
        path: '/',
        handle: async ({ request }) => {
          begun.resolve();
          body.resolve(readJson(request));
          return { status: 200, body: await body.promise };
        },
      },
      { method: 'GET', path: '/empty', handle: () => ({ status: 200, text: '', contentType: 'text/plain; version=0.0.4' }) },
      { method: 'GET', path: '/events', handle: () => ({ stream: () => (streams += 1) }) },
    ],
    failed: (error) => void failures.push(error),
  });
});
afterEach(async () => server.close());

describe('the server does not fail', () => {
  it.each(['//', '//[', '//a:b/', '/\\'])('if the path is %s', async (path) => {
    const answer = Promise.withResolvers<number | undefined>();
    send(server.url, { path, agent: false }, (response) => answer.resolve(response.resume().statusCode)).end();
    expect([400, 404]).toContain(await answer.promise);
    expect(failures).toEqual([]);
  });

  it('if the client goes away in the middle of its body', async () => {
    const request = send(server.url, { method: 'PUT', headers: { 'content-type': 'application/json', 'content-length': 100 } });
    request.on('error', () => {});
    request.write('{"value":');
    await begun.promise;
    request.destroy();
    await expect(body.promise).rejects.toMatchObject({ code: 'BAD_REQUEST' });
    expect(failures).toEqual([]);
  });
});

it('tells the type of an empty text: Prometheus rejects a page without one', async () => {
  const response = await fetch(`${server.url}/empty`);
  expect([response.headers.get('content-type'), await response.text()]).toEqual(['text/plain; version=0.0.4', '']);
});

it('answers HEAD on an event stream without beginning one: the connection serves the next request', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const statusOf = async (method: string, path: string): Promise<number | undefined> => {
    const answer = Promise.withResolvers<number | undefined>();
    const request = send(new URL(path, server.url), { method, agent }, (response) => {
      response.resume().on('end', () => answer.resolve(response.statusCode));
    });
    request.on('error', answer.reject);
    request.end();
    return answer.promise;
  };
  try {
    expect([await statusOf('HEAD', '/events'), await statusOf('GET', '/none'), streams]).toEqual([200, 404, 0]);
  } finally {
    agent.destroy();
  }
});

it('leaves no timer behind when it has closed', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    await server.close();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
