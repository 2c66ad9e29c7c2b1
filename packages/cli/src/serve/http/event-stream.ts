/** Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */

import type { ServerResponse } from 'node:http';

import { toJson } from '../../common/json.ts';

/** A stream whose client is behind by more than this, in bytes, is closed. */
const MAX_BEHIND_BYTES = 1_048_576;

/** The headers of an answer that is a stream. */
export const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' } as const;

export interface StreamEvent {
  readonly event: string;
}

/** One stream of events to one client. */
export class EventStream {
  /** Aborts when the stream has closed. */
  readonly closed: AbortSignal;
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    const closed = new AbortController();
    this.closed = closed.signal;
    this.#response = response;
    response.on('close', () => closed.abort());
    // The client may have gone before the stream begins.
    if (response.destroyed) closed.abort();
    response.writeHead(200, STREAM_HEADERS);
    response.flushHeaders();
  }

  /** Sends an event. `data` is its JSON, without the name of the event. */
  send({ event, ...data }: StreamEvent): void {
    this.sendJson(event, toJson(data));
  }

  /** Sends an event with data that is JSON already. */
  sendJson(event: string, json: string): void {
    this.#write(`event: ${event}\ndata: ${json}\n\n`);
  }

  /** Whether the client is behind, so that the sender should wait for `onDrain`. */
  get isFull(): boolean {
    return this.#response.writableNeedDrain;
  }

  /** Calls the listener each time that the client has read all that was sent. */
  onDrain(listener: () => void): void {
    this.#response.on('drain', listener);
  }

  /** Sends a comment, so that a connection that is gone is noticed. */
  ping(): void {
    this.#write(': ping\n\n');
  }

  end(): void {
    this.#response.end();
  }

  #write(text: string): void {
    if (this.#response.writableEnded || this.closed.aborted) return;
    // Only what was sent before counts: one event may be longer.
    if (this.#response.writableLength > MAX_BEHIND_BYTES) this.#response.destroy();
    else this.#response.write(text);
  }
}
