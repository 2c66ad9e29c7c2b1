/**
 * Reads and writes frames on a stream of bytes. Each side sends a preface once, then frames: four
 * bytes for the length, followed by the content. The reader checks the length before it waits for
 * the content. So it never keeps more than the longest frame and one chunk from the system.
 */

import type { Socket } from 'node:net';
import { Refused } from './refusal.ts';

/** The name of the protocol, and its version. */
const PREFACE = Buffer.alloc(8, 'IncPeer1');
const VERSION_AT = PREFACE.length - 1;
const LENGTH_BYTES = 4;
const NOTHING: Buffer = Buffer.alloc(0);

export class Wire {
  readonly #socket: Socket;
  readonly #over = Promise.withResolvers<unknown>();
  #bytes: Buffer = NOTHING;
  #take: ((frame: Buffer) => void) | undefined;
  #maxBytes: number;
  #hasReadPreface = false;
  #hasSentPreface = false;
  #isOver = false;
  #isHalfClosed = false;

  /**
   * The socket must be connected. `maxBytes`: the length of the longest frame that the reader
   * accepts.
   */
  constructor(socket: Socket, maxBytes: number) {
    this.#socket = socket;
    this.#maxBytes = maxBytes;
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('drain', () => this.onDrain());
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy(new Error('the other side ended the connection')));
    socket.pause();
  }

  /** Called when the buffer has room again after `isFull`. */
  onDrain: () => void = () => {};

  /**
   * Resolves with the reason when the connection ends: a `Refused`, an error of the system, or the
   * reason given to `destroy` or `end`. Never rejects.
   */
  get over(): Promise<unknown> {
    return this.#over.promise;
  }

  /** Whether the socket's buffer is full, because the other side reads too slowly. */
  get isFull(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /**
   * Resolves with the next frame. Rejects if the connection ends first. Only one call may wait at a
   * time.
   */
  async read(): Promise<Buffer> {
    const next = Promise.withResolvers<Buffer>();
    this.#listen((frame) => {
      this.#take = undefined;
      next.resolve(frame);
    });
    return Promise.race([
      next.promise,
      this.over.then((why) => {
        throw why;
      }),
    ]);
  }

  /**
   * Passes every following frame of at most `maxBytes` to `take`. If `take` throws, the connection
   * ends.
   */
  stream(maxBytes: number, take: (frame: Buffer) => void): void {
    this.#maxBytes = maxBytes;
    this.#listen(take);
  }

  write(...parts: readonly Uint8Array[]): void {
    if (!this.#isOver && !this.#isHalfClosed) this.#socket.write(this.#framed(parts));
  }

  /**
   * Sends nothing more after what was written, and reads on. The connection ends when the other
   * side has sent everything, too.
   */
  halfClose(): void {
    if (this.#isOver || this.#isHalfClosed) return;
    this.#isHalfClosed = true;
    this.#socket.end();
  }

  /** Sends a last frame and ends the connection. */
  end(frame: Uint8Array, why: unknown): void {
    if (this.#isOver) return;
    this.#finish(why);
    this.#socket.end(this.#framed([frame]));
    this.#socket.destroySoon();
  }

  /** Ends the connection at once. Does nothing if it has ended or is ending. */
  destroy(why: unknown): void {
    if (this.#isOver) return;
    this.#finish(why);
    this.#socket.destroy();
  }

  #finish(why: unknown): void {
    this.#isOver = true;
    this.#take = undefined;
    this.#bytes = NOTHING;
    this.#over.resolve(why);
  }

  #framed(parts: readonly Uint8Array[]): Buffer {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(parts.reduce((sum, part) => sum + part.length, 0));
    const preface = this.#hasSentPreface ? NOTHING : PREFACE;
    this.#hasSentPreface = true;
    return Buffer.concat([preface, length, ...parts]);
  }

  #listen(take: (frame: Buffer) => void): void {
    if (this.#isOver) return;
    this.#take = take;
    this.#socket.resume();
    this.#cut();
  }

  #onData(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    this.#cut();
  }

  #cut(): void {
    try {
      while (this.#take !== undefined) {
        const frame = this.#next();
        if (frame === undefined) return;
        this.#take(frame);
      }
    } catch (error) {
      this.destroy(error);
    }
    // No reader is waiting, so leave further bytes in the system's buffer: flow control stops the
    // sender.
    this.#socket.pause();
  }

  #next(): Buffer | undefined {
    if (!this.#hasReadPreface && !this.#readPreface()) return undefined;
    if (this.#bytes.length < LENGTH_BYTES) return undefined;
    const length = this.#bytes.readUInt32BE(0);
    if (length > this.#maxBytes) throw new Refused('tooLarge', { announcedBytes: length });
    const end = LENGTH_BYTES + length;
    if (this.#bytes.length < end) return undefined;
    const frame = this.#bytes.subarray(LENGTH_BYTES, end);
    this.#bytes = this.#bytes.subarray(end);
    return frame;
  }

  /** Refuses the connection at the first byte that differs. */
  #readPreface(): boolean {
    const heard = this.#bytes.subarray(0, PREFACE.length);
    const isNamed = heard.subarray(0, VERSION_AT).equals(PREFACE.subarray(0, Math.min(heard.length, VERSION_AT)));
    if (!isNamed) throw new Refused('notThisProtocol');
    if (heard.length < PREFACE.length) return false;
    if (heard[VERSION_AT] !== PREFACE[VERSION_AT]) throw new Refused('version');
    this.#hasReadPreface = true;
    this.#bytes = this.#bytes.subarray(PREFACE.length);
    return true;
  }
}
