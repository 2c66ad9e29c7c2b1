// The requests are HTTP, on loopback.
import { request as send, type IncomingMessage } from 'node:http';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { UiPage } from './ui-page.ts';

let ui: UiPage;

beforeEach(async () => {
  ui = await UiPage.open({ operate: true });
});
afterEach(async () => {
  await ui[Symbol.asyncDispose]();
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

type Headers = Readonly<Record<string, string>>;

function begin(method: string, path: string, headers: Headers = {}, body?: object): Promise<IncomingMessage> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const type = text === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
  return new Promise((resolve, reject) => {
    const request = send(new URL(path, ui.url), { method, headers: { ...type, ...headers }, agent: false }, resolve);
    request.on('error', reject);
    request.end(text);
  });
}

async function call(method: string, path: string, headers: Headers = {}, body?: object): Promise<Answer> {
  const response = await begin(method, path, headers, body);
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += String(part);
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}

/** Serves the page again, of a store on which `a` has led before. */
async function led(): Promise<void> {
  await ui[Symbol.asyncDispose]();
  ui = await UiPage.open({ prepare: (page) => page.leads('a', 'db') });
}

/** The headers of a request of the page itself. */
function own(): Headers {
  return { origin: ui.url, 'sec-fetch-site': 'same-origin' };
}

/** Reads the stream until the text is there. */
async function readUntil(path: string, wanted: string, headers: Headers = own()): Promise<string> {
  const response = await begin('GET', path, headers);
  expect(response.statusCode).toBe(200);
  let text = '';
  for await (const part of response.setEncoding('utf8')) {
    text += String(part);
    if (text.includes(wanted)) break;
  }
  response.destroy();
  return text;
}

it('says in the answer to an unknown path where the page is', async () => {
  const { status, text } = await call('GET', '/openapi.json', own());
  expect([status, JSON.parse(text)]).toEqual([404, { code: 'NOT_FOUND', message: 'there is no such path: the page is at /' }]);
});

describe('the page', () => {
  it('has all files that it names, without anything from elsewhere', async () => {
    const page = await call('GET', '/');
    expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
    const found = new Set<string>();
    const waiting = [...page.text.matchAll(/(?:href|src)="(\/[^"]+)"/g)].map(([, path = '']) => path);
    while (waiting.length > 0) {
      const path = waiting.pop() ?? '';
      if (found.has(path) || path.startsWith('/#')) continue;
      found.add(path);
      const { status, text } = await call('GET', path);
      expect(status, path).toBe(200);
      if (path.endsWith('.js')) waiting.push(...[...text.matchAll(/from '\.(\/[\w.-]+)'/g)].map(([, file = '']) => file));
      expect(text, path).not.toMatch(/https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
    }
    expect(found.size).toBeGreaterThan(10);
  });

  it('has no script or style in its HTML, and the policy forbids both', async () => {
    const { text, headers } = await call('GET', '/');
    expect(text).not.toMatch(/<script(?![^>]*src=)|<style|\sstyle=|\son\w+=/);
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|\*/);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
    expect(headers['set-cookie']).toBeUndefined();
  });

  it('can be opened by a link on another page, which gets no data', async () => {
    const elsewhere = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    expect((await call('GET', '/', elsewhere)).status).toBe(200);
    expect((await call('GET', '/documents', elsewhere)).status).toBe(403);
  });
});

describe('the server of the page', () => {
  it.each([
    ['another origin', 'POST', { origin: 'http://evil.example' }],
    ['another port of loopback', 'POST', { origin: 'http://127.0.0.1:1' }],
    ['no origin', 'POST', {}],
    ['another site', 'POST', { 'sec-fetch-site': 'cross-site' }],
    ['another origin', 'GET', { origin: 'http://evil.example' }],
    ['a name that leads to loopback', 'GET', { host: 'evil.example' }],
  ] as const)('refuses a request from %s (%s)', async (_what, method, headers) => {
    await ui.leads('a', 'db');
    const path = method === 'POST' ? '/elections/db/resign' : '/elections/db/preview';
    const { status, text } = await call(method, path, headers, method === 'POST' ? { term: '1' } : undefined);
    expect([status, text]).toEqual([403, expect.stringContaining('FORBIDDEN')]);
    expect(ui.operated).toEqual([]);
  });

  it('gives the page to everybody and the data only to those with the token, if there is one', async () => {
    await ui[Symbol.asyncDispose]();
    const token = 'a-token-of-24-characters';
    ui = await UiPage.open({ server: { access: { isLocal: false, token } } });
    expect((await call('GET', '/')).status).toBe(200);
    expect((await call('GET', '/documents', own())).status).toBe(401);
    expect((await call('POST', '/check', own())).status).toBe(401);
    expect((await call('POST', '/check', { ...own(), authorization: `Bearer ${token}` })).status).toBe(204);
  });

  it('sends the documents, and then what changes', async () => {
    await led();
    const text = await readUntil('/documents', '"member":"a"');
    expect(text).toMatch(/^event: hello\ndata: \{"epoch":"[0-9a-f]+","resumes":false,"now":\d+\}\n\n/);
    expect(text).toContain('["store",');
  });

  it('sends only what has changed to a viewer that comes back', async () => {
    await led();
    const first = await readUntil('/documents', '"member":"a"');
    const epoch = /"epoch":"([0-9a-f]+)"/.exec(first)?.[1] ?? '';
    const text = await readUntil(`/documents?since=${epoch}.${ui.model.board.version}`, 'event: ready');
    expect(text).toContain('"resumes":true');
    expect(text).not.toContain('"election/db"');
  });

  it('sends the queue of the election that the viewer has opened', async () => {
    await ui.campaigns('a', 'db', { port: 1 });
    await ui.campaigns('b', 'db');
    const text = await readUntil('/documents?queue=db', '"state":"waits"');
    expect(text).toContain('["queue/db",');
    expect((await call('GET', '/documents?queue=no%2Fname', own())).status).toBe(400);
  });

  it('counts viewers, and forgets those that are gone', async () => {
    const response = await begin('GET', '/documents', own());
    await new Promise((resolve) => response.once('data', resolve));
    expect(ui.model.viewers).toBe(1);
    response.destroy();
    while (ui.model.viewers > 0) await new Promise(setImmediate);
  });

  it('checks the store when the page asks for it', async () => {
    expect((await call('POST', '/check', own())).status).toBe(204);
    expect(ui.model.board.json('health')).toContain('"what":"linearizable"');
  });
});

describe('operating', () => {
  it('is refused without --allow-operate', async () => {
    await ui[Symbol.asyncDispose]();
    ui = await UiPage.open();
    const leadership = await ui.leads('a', 'db');
    for (const [method, path] of [
      ['GET', '/elections/db/preview'],
      ['POST', '/elections/db/resign'],
      ['POST', '/elections/db/handover'],
    ] as const)
      expect(await call(method, path, own(), method === 'POST' ? { term: '1', to: 'b' } : undefined)).toMatchObject({
        status: 403,
        text: expect.stringContaining('--allow-operate'),
      });
    expect(leadership.isValid()).toBe(true);
  });

  it('shows what a resignation will do, and does it', async () => {
    await ui.campaigns('a', 'db');
    await ui.campaigns('b', 'db');
    const preview = await call('GET', '/elections/db/preview', own());
    expect(JSON.parse(preview.text)).toMatchObject({ election: 'db', term: '1', member: 'a' });
    expect(preview.text).toContain('Then b leads, which is next in the queue now.');
    const result = await call('POST', '/elections/db/resign', own(), { term: '1' });
    expect(JSON.parse(result.text)).toEqual({ ok: true, text: 'b leads in term 2.' });
    expect(ui.operated).toEqual(['resign "db" from term 1: b leads in term 2.']);
  });

  it('shows what a handover will do, and does it', async () => {
    await ui.campaigns('a', 'db');
    await ui.campaigns('b', 'db');
    await ui.campaigns('c', 'db');
    const preview = await call('GET', '/elections/db/preview?to=c', own());
    expect(preview.text).toContain('a is asked to hand over to c.');
    const result = await call('POST', '/elections/db/handover', own(), { term: '1', to: 'c' });
    expect(JSON.parse(result.text)).toEqual({ ok: true, text: 'c leads in term 2.' });
  });

  it('does nothing if the term of the preview is over', async () => {
    await ui.campaigns('a', 'db');
    await ui.campaigns('b', 'db');
    await call('POST', '/elections/db/resign', own(), { term: '1' });
    const result = await call('POST', '/elections/db/resign', own(), { term: '1' });
    expect(JSON.parse(result.text)).toEqual({ ok: false, text: 'Term 1 had ended already: nothing was done.' });
  });

  it('says why a preview or a request is not possible', async () => {
    await ui.campaigns('a', 'db');
    expect(await call('GET', '/elections/none/preview', own())).toMatchObject({
      status: 409,
      text: expect.stringContaining('nobody leads'),
    });
    expect(await call('GET', '/elections/db/preview?to=a', own())).toMatchObject({ status: 409 });
    expect(await call('GET', '/elections/db/preview?to=x', own())).toMatchObject({ status: 404 });
    expect(await call('POST', '/elections/db/handover', own(), { term: '1', to: 'x' })).toMatchObject({
      status: 409,
      text: expect.stringContaining('NO_SUCH_CANDIDATE'),
    });
    expect(await call('POST', '/elections/db/handover', own(), { term: '1' })).toMatchObject({ status: 400 });
    expect(await call('POST', '/elections/db/resign', own(), { term: 1 })).toMatchObject({ status: 400 });
  });
});
