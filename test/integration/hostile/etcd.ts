/**
 * An etcd server that answers with too much data. It writes single HTTP/2 frames, so that it can
 * split its answers anywhere.
 */

import { LONG_BYTES, serve, TINY_BYTES, type Attack, type HostileServer } from './server.ts';

const PREFACE_BYTES = 24;
const FRAME_HEADER_BYTES = 9;
const Kind = { data: 0, headers: 1, settings: 4, ping: 6, windowUpdate: 8 } as const;
const ACK = 1;
const END_STREAM = 1;
const END_HEADERS = 4;
/** The initial window of an HTTP/2 connection, and of each stream of our client. */
const FIRST_WINDOW = 65_535;
const STREAM_WINDOW = 2 ** 20;

function frame(kind: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const bytes = Buffer.alloc(FRAME_HEADER_BYTES);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes.writeUInt8(kind, 3);
  bytes.writeUInt8(flags, 4);
  bytes.writeUInt32BE(stream, 5);
  return Buffer.concat([bytes, payload]);
}

/** A header that is not in HTTP/2's static table. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);
}

const STATUS_200 = Buffer.from([0x88]);
const HEADERS = Buffer.concat([STATUS_200, literal('content-type', 'application/grpc')]);
const TRAILERS = literal('grpc-status', '0');

function varint(value: number): readonly number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))];
}

/** The prefix of a gRPC message. */
function announce(length: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

const VERSION = Buffer.from([0x12, 5, ...Buffer.from('3.6.1')]);
/** A range's answer: a header, field 1, with the revision 7, and no keys. */
const NOTHING = Buffer.from([0x0a, 2, 0x18, 7]);
/** Field 2 of a range's answer, a key and value, whose field 5 is the value. */
const LONG_HEAD = Buffer.from([0x12, ...varint(LONG_BYTES + 5), 0x2a, ...varint(LONG_BYTES)]);

interface Piece {
  readonly bytes: Uint8Array;
  /** In frames of this many bytes. */
  readonly cut: number;
}

const CUT = 16_384;

function* many(bytes: number[], total: number, cut: number = CUT): Generator<Piece> {
  const chunk = Buffer.from(Array.from({ length: CUT / bytes.length }, () => bytes).flat());
  for (let sent = 0; sent < total; sent += chunk.length) yield { bytes: chunk.subarray(0, Math.min(chunk.length, total - sent)), cut };
}

function* longMessage(): Generator<Piece> {
  yield { bytes: Buffer.concat([announce(LONG_HEAD.length + LONG_BYTES), LONG_HEAD]), cut: CUT };
  yield* many([97], LONG_BYTES);
}

function* attackOf(attack: Attack, turn: number): Generator<Piece> {
  switch (attack) {
    case 'endless before authentication':
      for (;;) yield* longMessage();
    case 'endless after it': {
      const message = Buffer.concat([announce(CUT - 5), Buffer.alloc(CUT - 5)]);
      for (;;) yield { bytes: message, cut: CUT };
    }
    case 'tiny values': {
      const total = turn % 2 === 0 ? TINY_BYTES : LONG_BYTES;
      yield { bytes: announce(total), cut: CUT };
      return yield* many([0x08, 0x00], total);
    }
    case 'endless body':
      return yield* longMessage();
    case 'one byte at a time':
      yield { bytes: announce(LONG_BYTES), cut: CUT };
      return yield* many([97], LONG_BYTES, 1);
    default:
      throw new Error(attack satisfies never);
  }
}

/** One HTTP/2 connection, from the server's side. */
class Http2Peer {
  readonly #write: (bytes: Uint8Array) => boolean;
  readonly #onStream: (stream: number) => void;
  #rest = Buffer.alloc(0);
  #isGreeted = false;
  #window = FIRST_WINDOW;
  readonly #windows = new Map<number, number>();
  #more = Promise.withResolvers<void>();
  isOver = false;

  constructor(write: (bytes: Uint8Array) => boolean, onStream: (stream: number) => void) {
    this.#write = write;
    this.#onStream = onStream;
    write(frame(Kind.settings, 0, 0));
  }

  push(chunk: Uint8Array): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    if (!this.#isGreeted && this.#rest.length >= PREFACE_BYTES) {
      this.#rest = this.#rest.subarray(PREFACE_BYTES);
      this.#isGreeted = true;
    }
    while (this.#isGreeted && this.#rest.length >= FRAME_HEADER_BYTES) {
      const end = FRAME_HEADER_BYTES + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < end) return;
      this.#take(this.#rest.subarray(0, end));
      this.#rest = this.#rest.subarray(end);
    }
  }

  /** The socket accepts more data, or is closed. */
  wake(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }

  respond(stream: number): void {
    this.#write(frame(Kind.headers, END_HEADERS, stream, HEADERS));
  }

  end(stream: number): void {
    if (!this.isOver) this.#write(frame(Kind.headers, END_HEADERS | END_STREAM, stream, TRAILERS));
  }

  async data(stream: number, { bytes, cut }: Piece): Promise<void> {
    for (let at = 0; at < bytes.length && !this.isOver;) {
      const room = Math.min(bytes.length - at, this.#window, this.#windows.get(stream) ?? STREAM_WINDOW);
      if (room === 0) {
        await this.#more.promise;
        continue;
      }
      const frames: Buffer[] = [];
      const to = at + room;
      for (; at < to; at = Math.min(at + cut, to)) frames.push(frame(Kind.data, 0, stream, bytes.subarray(at, Math.min(at + cut, to))));
      this.#window -= room;
      this.#windows.set(stream, (this.#windows.get(stream) ?? STREAM_WINDOW) - room);
      if (!this.#write(Buffer.concat(frames))) await this.#more.promise;
    }
  }

  #take(bytes: Buffer): void {
    const [kind, flags, stream] = [bytes.readUInt8(3), bytes.readUInt8(4), bytes.readUInt32BE(5)];
    const payload = bytes.subarray(FRAME_HEADER_BYTES);
    if (kind === Kind.settings && flags !== ACK) this.#write(frame(Kind.settings, ACK, 0));
    if (kind === Kind.ping && flags !== ACK) this.#write(frame(Kind.ping, ACK, 0, payload));
    if (kind === Kind.headers) this.#onStream(stream);
    if (kind !== Kind.windowUpdate) return;
    const more = payload.readUInt32BE(0);
    if (stream === 0) this.#window += more;
    else this.#windows.set(stream, (this.#windows.get(stream) ?? STREAM_WINDOW) + more);
    this.wake();
  }
}

export function hostileEtcd(): Promise<HostileServer> {
  let turns = 0;
  let streams = 0;
  let last: Attack | undefined;
  return serve(
    (host) => `etcd://${host}/hostile`,
    ({ socket, attack }) => {
      if (attack !== last) [last, streams] = [attack, 0];
      const answer = async (stream: number): Promise<void> => {
        streams += 1;
        peer.respond(stream);
        // A client that opens a store asks for the version first.
        const isFirst = streams === 1 && attack !== 'endless before authentication';
        if (isFirst) await peer.data(stream, { bytes: Buffer.concat([announce(VERSION.length), VERSION]), cut: CUT });
        else if (attack === undefined) await peer.data(stream, { bytes: Buffer.concat([announce(NOTHING.length), NOTHING]), cut: CUT });
        else
          for (const piece of attackOf(attack, (turns += 1))) {
            if (peer.isOver) return;
            await peer.data(stream, piece);
          }
        peer.end(stream);
      };
      const peer = new Http2Peer(
        (bytes) => socket.write(bytes),
        (stream) => void answer(stream),
      );
      socket.on('data', (chunk: Buffer) => peer.push(chunk));
      socket.on('drain', () => peer.wake());
      socket.on('close', () => {
        peer.isOver = true;
        peer.wake();
      });
    },
  );
}
