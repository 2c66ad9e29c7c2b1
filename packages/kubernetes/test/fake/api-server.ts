/**
 * An API server for tests, in this process: leases and config maps over HTTP, as the real one
 * answers. The exchanges of `exchanges.ts` run on both, so that this one cannot drift.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';

import { callApi, type ApiAnswer } from './call.ts';
import { fields, parseObject, textFields, type Fields } from '../../src/objects/json.ts';
import { failure, Objects, type Answer, type ObjectEvent } from './objects.ts';

export interface FakeRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
}

/** 'silent': the server never answers. 'reset': the connection closes instead. */
type Reaction = Answer | { readonly status: number; readonly text: string } | 'silent' | 'reset';

/** Undefined: the server answers as ever. */
export type Intervene = (request: FakeRequest) => Reaction | undefined;

/** The path of the objects of a resource in one namespace, or of a resource of flow control. */
const COLLECTION = /^(\/apis?\/.+\/namespaces\/[^/]+\/[^/]+|\/apis\/flowcontrol\.apiserver\.k8s\.io\/v1\/[^/]+)(?:\/([^/]+))?$/;

/** The uids of the flow schema and the priority level that the server puts a request into. */
export interface Classification {
  readonly flowSchema: string;
  readonly level: string;
}

export class FakeApiServer implements AsyncDisposable {
  readonly objects = new Objects();
  readonly requests: FakeRequest[] = [];
  readonly tokens = { admin: 'fake-token' };
  /** The number of connections that were opened. */
  connections = 0;
  /** What happens to a request before the server looks at it. */
  intervene: Intervene = () => undefined;
  /** Holds back the answer to a request that the server has carried out, until it resolves. */
  hold: (request: FakeRequest) => Promise<void> | undefined = () => undefined;
  /** Undefined: the server has no priority and fairness. */
  classify: ((request: FakeRequest) => Classification) | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #silent = new WeakSet<Socket>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #url = '';

  static async start(): Promise<FakeApiServer> {
    const fake = new FakeApiServer();
    fake.#server.on('connection', (socket) => fake.#onConnection(socket));
    fake.#server.listen(0, '127.0.0.1');
    await once(fake.#server, 'listening');
    const address = fake.#server.address();
    if (address === null || typeof address === 'string') throw new Error('a server without a port');
    fake.#url = `http://127.0.0.1:${address.port}`;
    return fake;
  }

  get url(): string {
    return this.#url;
  }

  /** Sends one request as the administrator. */
  call(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    return callApi({ url: this.#url, token: this.tokens.admin }, method, path, body);
  }

  /**
   * From now on, requests on the present connections get no answer, as after a firewall has
   * forgotten them. Returns how many there are.
   */
  silenceConnections(): number {
    for (const socket of this.#sockets) this.#silent.add(socket);
    return this.#sockets.size;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #onConnection(socket: Socket): void {
    this.connections += 1;
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, searchParams: query } = new URL(request.url ?? '', 'http://fake');
    const received = { method: request.method ?? '', path, query, body: await text(request) };
    this.requests.push(received);
    if (this.classify !== undefined) {
      const { flowSchema, level } = this.classify(received);
      response.setHeader('X-Kubernetes-PF-FlowSchema-UID', flowSchema);
      response.setHeader('X-Kubernetes-PF-PriorityLevel-UID', level);
    }
    const intervention = this.intervene(received);
    if (intervention === 'reset') return void request.socket.destroy();
    if (intervention === 'silent' || this.#silent.has(request.socket)) return;
    if (intervention !== undefined) return reply(response, intervention);
    const refused = this.#authenticate(request.headers.authorization);
    if (refused !== undefined) return reply(response, refused);
    if (received.method === 'PATCH' && request.headers['content-type'] !== 'application/merge-patch+json')
      return reply(response, failure(415, 'UnsupportedMediaType', 'the body of the request was in an unknown format'));
    if (received.method === 'GET' && query.get('watch') === 'true') return this.#watch(path, query, response);
    const answer = this.#answer(received);
    const held = this.hold(received);
    if (held !== undefined) await held;
    reply(response, answer);
  }

  #authenticate(authorization: string | undefined): Answer | undefined {
    if (authorization === undefined) return failure(403, 'Forbidden', 'system:anonymous may not do this');
    return authorization === `Bearer ${this.tokens.admin}` ? undefined : failure(401, 'Unauthorized', 'Unauthorized');
  }

  /** Takes a request that does not come over a connection, and returns what happens to it. */
  handle(request: FakeRequest): Reaction {
    this.requests.push(request);
    return this.intervene(request) ?? this.#answer(request);
  }

  /** Applies a request whose answer nobody gets. */
  apply(request: FakeRequest): void {
    this.#answer(request);
  }

  #answer({ method, path, query, body }: FakeRequest): Answer {
    if (path === '/version') return { status: 200, body: { major: '1', minor: '36', gitVersion: 'v1.36.4' } };
    const [, collection, name] = COLLECTION.exec(path) ?? [];
    if (collection === undefined) return failure(404, 'NotFound', 'the server could not find the requested resource');
    if (name === undefined)
      return method === 'POST' ? this.objects.create(collection, parseObject(body)) : this.objects.list(collection, selected(query));
    switch (method) {
      case 'GET':
        return this.objects.get(path);
      case 'PUT':
        return this.objects.replace(collection, path, parseObject(body));
      case 'PATCH':
        return this.objects.patch(collection, path, parseObject(body));
      case 'DELETE':
        return this.objects.delete(collection, path, body === '' ? {} : parseObject(body));
      default:
        return failure(405, 'MethodNotAllowed', method);
    }
  }

  #watch(collection: string, query: URLSearchParams, response: ServerResponse): void {
    const isSelected = selected(query);
    const version = query.get('resourceVersion');
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const tell = (type: string, object: Fields): void => void response.write(`${JSON.stringify({ type, object })}\n`);
    const onEvent = ({ type, object }: ObjectEvent): void => {
      if (isSelected(object)) tell(type, object);
    };
    const stop = this.objects.watch(collection, version === null ? undefined : Number(version), onEvent);
    if (typeof stop !== 'function') {
      tell('ERROR', stop.body);
      response.end();
      return;
    }
    const timer = setTimeout(() => response.end(), Number(query.get('timeoutSeconds') ?? 1_800) * 1_000);
    response.once('close', () => {
      clearTimeout(timer);
      stop();
    });
  }
}

/** The selectors that the store uses: one name, or one label. */
function selected(query: URLSearchParams): (object: Fields) => boolean {
  const [, name] = /^metadata\.name=(.*)$/.exec(query.get('fieldSelector') ?? '') ?? [];
  const [, label, value] = /^([^=]+)=(.*)$/.exec(query.get('labelSelector') ?? '') ?? [];
  return (object) => {
    const metadata = fields(object['metadata']);
    if (name !== undefined && metadata['name'] !== name) return false;
    return label === undefined || textFields(fields(metadata['labels'] ?? {}))[label] === value;
  };
}

function reply(response: ServerResponse, answer: Answer | { readonly status: number; readonly text: string }): void {
  const isText = 'text' in answer;
  response.writeHead(answer.status, { 'content-type': isText ? 'text/plain' : 'application/json' });
  response.end(isText ? answer.text : JSON.stringify(answer.body));
}
