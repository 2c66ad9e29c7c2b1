/** A fake server's side of a stream of watches, and a store on it. */

import type { ServerHttp2Stream } from 'node:http2';
import type { Entry, Revision, Store } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { Deframer } from '@incumbent/network';
import { Recorder } from '@incumbent/test-support/recorder';
import { expect } from 'vitest';

import { frame, grpcFraming } from '../src/protocol/frame.ts';
import { Reader, Writer } from '../src/protocol/protobuf.ts';
import { MAX_MESSAGE_BYTES } from '../src/protocol/rpc.ts';
import { ok, startFakeServer, type Answer, type FakeServer } from './fake-server.ts';

const FRAMING = grpcFraming(() => MAX_MESSAGE_BYTES);

/** Long, for a busy machine. */
export const SOON = { timeout: 5_000 };
export const RANGE = '/etcdserverpb.KV/Range';

export const REVISION = 7n;
const VERSION = new Writer().string(2, '3.6.1').finish();

function keyValue(value: string, revision: bigint): Writer {
  return new Writer().string(1, 'incumbent/a').int64(2, REVISION).int64(3, revision).string(5, value);
}

/** A Range answer: the key at this value, read at this revision of the cluster. */
export function reads(value: string, revision: bigint = REVISION): Answer {
  return ok(new Writer().message(1, new Writer().int64(3, revision)).message(2, keyValue(value, REVISION)).finish());
}

interface WatchAnswerParts {
  readonly revision?: bigint;
  readonly id?: bigint;
  readonly created?: boolean;
  readonly canceled?: string;
  readonly compacted?: bigint;
  readonly puts?: string;
}

export function watchAnswer({ revision = REVISION, id = 0n, created = false, canceled, compacted, puts }: WatchAnswerParts): Uint8Array {
  const message = new Writer()
    .message(1, new Writer().int64(3, revision))
    .int64(2, id)
    .bool(3, created)
    .bool(4, canceled !== undefined);
  if (compacted !== undefined) message.int64(5, compacted);
  if (canceled !== undefined) message.string(6, canceled);
  if (puts !== undefined) message.message(11, new Writer().message(2, keyValue(puts, REVISION + 1n)));
  return frame(message.finish());
}

/** A stream of watches, as the server has it. */
export class Watching {
  readonly stream: ServerHttp2Stream;
  /** What was asked for: `create`, or `cancel` and the number. */
  readonly asked: string[] = [];
  /** The revisions from which watches were asked for. */
  readonly from: bigint[] = [];
  /** How far the server says that it has come; undefined: it does not answer. */
  progress: bigint | undefined = REVISION;
  progressAsked = 0;
  readonly #deframer = new Deframer(FRAMING);

  constructor(stream: ServerHttp2Stream, onCreate: (watching: Watching) => void) {
    this.stream = stream;
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('data', (chunk: Uint8Array) => {
      for (const message of this.#deframer.push(chunk)) this.#onRequest(new Reader(message), onCreate);
    });
  }

  /** In one piece. */
  says(...answers: readonly WatchAnswerParts[]): void {
    this.stream.write(Buffer.concat(answers.map(watchAnswer)));
  }

  ends(status: number, message: string): void {
    this.stream.on('wantTrailers', () => this.stream.sendTrailers({ 'grpc-status': String(status), 'grpc-message': message }));
    this.stream.end();
  }

  #onRequest(request: Reader, onCreate: (watching: Watching) => void): void {
    const field = request.next();
    if (field === 1) {
      this.asked.push('create');
      this.from.push(startOf(request.message()));
      return onCreate(this);
    }
    if (field === 3) {
      this.progressAsked += 1;
      if (this.progress !== undefined) this.says({ id: -1n, revision: this.progress });
      return;
    }
    const cancellation = request.message();
    cancellation.next();
    this.asked.push(`cancel ${cancellation.int64()}`);
  }
}

/** The revision from which a watch is asked for. */
function startOf(creation: Reader): bigint {
  for (let field = creation.next(); field !== undefined; field = creation.next()) if (field === 3) return creation.int64();
  return 0n;
}

/** Makes a watch as soon as it is asked for. */
export const creates = (watching: Watching): void => watching.says({ id: 5n, created: true });

/** A store, its server, and one watch on it. */
export class WatchScene {
  readonly streams: Watching[] = [];
  /** What the server does when the nth watch is asked for; the last one for all that follow. */
  onCreate: ((watching: Watching) => void)[] = [creates];
  onRead: Answer = reads('read');
  readsAsked = 0;
  server!: FakeServer;
  store!: Store;
  watch!: Recorder<Entry | undefined>;

  static async open(): Promise<WatchScene> {
    const scene = new WatchScene();
    scene.server = await startFakeServer((stream, headers) => scene.answer(stream, headers));
    scene.store = await openEtcd({ endpoints: [`127.0.0.1:${scene.server.port}`] });
    return scene;
  }

  async close(): Promise<void> {
    await this.store.close();
    await this.server[Symbol.asyncDispose]();
  }

  readonly answer: Answer = (stream, headers) => {
    const path = headers[':path'];
    if (path === '/etcdserverpb.Maintenance/Status') return ok(VERSION)(stream, headers);
    if (path === RANGE) {
      this.readsAsked += 1;
      return this.onRead(stream, headers);
    }
    this.streams.push(
      new Watching(stream, (watching) => (this.onCreate.length > 1 ? this.onCreate.shift() : this.onCreate[0])?.(watching)),
    );
  };

  begin(since?: Revision): void {
    this.watch = new Recorder((options) => this.store.watch('a', { ...options, since }));
  }

  readonly values = (): (string | undefined)[] => this.watch.states.map((entry) => entry && new TextDecoder().decode(entry.value));

  async shows(...expected: readonly string[]): Promise<void> {
    await expect.poll(this.values, SOON).toEqual(expected);
  }
}

/** A store that has begun with the first of two, which is chosen by chance. */
export async function openOn(first: FakeServer, second: FakeServer): Promise<Store> {
  for (;;) {
    const connected = first.sessions.length;
    const both = await openEtcd({ endpoints: [first, second].map(({ port }) => `127.0.0.1:${port}`) });
    if (first.sessions.length > connected) return both;
    await both.close();
  }
}
