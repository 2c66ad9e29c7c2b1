/**
 * Many clients of one `incumbent serve`, all in this process: candidacies and their event streams.
 */

import assert from 'node:assert/strict';
import { Agent, type IncomingMessage, request as send } from 'node:http';

/** One candidacy with its event stream. */
export interface CrowdClient {
  readonly path: string;
  readonly secret: string;
  /** When each term began and ended, as the stream has told, in ms of `performance.now()`. */
  readonly electedAt: Map<string, number>;
  readonly endedAt: Map<string, number>;
  readonly stream: IncomingMessage;
}

export interface CrowdAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export class Crowd implements AsyncDisposable {
  readonly clients: CrowdClient[] = [];
  /** Streams that have ended although nobody closed them. */
  brokenStreams = 0;
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  #isClosed = false;

  constructor(url: string) {
    this.#url = url;
  }

  async call(method: string, path: string, secret?: string, body?: object): Promise<CrowdAnswer> {
    const response = await this.#send(method, path, secret, body, this.#agent);
    response.setEncoding('utf8');
    let text = '';
    for await (const part of response) text += String(part);
    return { status: response.statusCode ?? 0, body: text === '' ? {} : Object(JSON.parse(text)) };
  }

  /** A candidacy that its requests and its stream keep. */
  async join(election: string, id: string): Promise<CrowdClient> {
    const path = `/elections/${election}/candidacies/${id}`;
    const made = await this.call('PUT', path, undefined, { renewWithinMs: 60_000 });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const secret = String(made.body['secret']);
    const stream = await this.#send('GET', `${path}/events`, secret);
    assert.equal(stream.statusCode, 200);
    const client: CrowdClient = { path, secret, stream, electedAt: new Map(), endedAt: new Map() };
    readStream(stream, (event, term) => {
      if (event === 'elected') client.electedAt.set(term, performance.now());
      if (event === 'ended') client.endedAt.set(term, performance.now());
    });
    stream.on('close', () => {
      if (!this.#isClosed) this.brokenStreams += 1;
    });
    this.clients.push(client);
    return client;
  }

  /**
   * Each client asks once a second, evenly spread, for so many seconds. Returns how long each
   * answer took, in ms, the fastest first.
   */
  async ask(seconds: number): Promise<readonly number[]> {
    const times: number[] = [];
    const ask = async ({ path, secret }: CrowdClient): Promise<void> => {
      const askedAt = performance.now();
      const { status, body } = await this.call('GET', path, secret);
      times.push(performance.now() - askedAt);
      assert.equal(status, 200, JSON.stringify(body));
    };
    const pending: Promise<void>[] = [];
    const startedAt = performance.now();
    const total = seconds * this.clients.length;
    while (pending.length < total) {
      const due = Math.min(((performance.now() - startedAt) / 1_000) * this.clients.length, total);
      while (pending.length < due) {
        const client = this.clients[pending.length % this.clients.length];
        if (client !== undefined) pending.push(ask(client));
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await Promise.all(pending);
    return times.toSorted((a, b) => a - b);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const { stream } of this.clients) stream.destroy();
    this.#agent.destroy();
  }

  #send(method: string, path: string, secret?: string, body?: object, agent: Agent | false = false): Promise<IncomingMessage> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...(secret === undefined ? {} : { 'candidacy-secret': secret }),
    };
    return new Promise((resolve, reject) => {
      const request = send(new URL(path, this.#url), { method, headers, agent }, resolve);
      request.on('error', reject);
      request.end(text);
    });
  }
}

function readStream(stream: IncomingMessage, take: (event: string, term: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (part: string) => {
    const blocks = (rest + part).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, event = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
      if (event !== '') take(event, /"term":"(\d+)"/.exec(data)?.[1] ?? '');
    }
  });
  stream.on('error', () => {});
}
