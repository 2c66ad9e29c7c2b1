/** What a server says of watches, and its side of a stream of them, for tests in which it does as it is told. */

import type { ServerHttp2Stream } from 'node:http2';

import { Deframer, frame } from '../src/grpc/frame.ts';
import { Reader, Writer } from '../src/wire/protobuf.ts';
import { ok, type Answer } from './fake-server.ts';

export const REVISION = 7n;
export const VERSION = new Writer().string(2, '3.6.1').finish();

function keyValue(value: string, revision: bigint): Writer {
  return new Writer().string(1, 'incumbent/a').int64(2, REVISION).int64(3, revision).string(5, value);
}

/** A Range answer: the key at this value. */
export function reads(value: string): Answer {
  return ok(new Writer().message(1, new Writer().int64(3, REVISION)).message(2, keyValue(value, REVISION)).finish());
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
  /** How far the server says that it has come; undefined: it does not answer. */
  progress: bigint | undefined = REVISION;
  progressAsked = 0;
  readonly #deframer = new Deframer();

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
