/** What a route of the HTTP API is: a method, a path, and a function that makes the answer. */

import type { IncomingMessage } from 'node:http';

import type { Sidecar } from '../sidecar.ts';
import type { EventStream } from './event-stream.ts';

/** @throws `UNREACHABLE` before the store is open. */
export type OpenSidecar = () => Sidecar;

/** What the answer to a request is made of. */
export type Answer =
  | { readonly status: number; readonly body: object }
  | { readonly status: number; readonly text: string; readonly contentType: string }
  | { readonly status: 204 }
  /**
   * Called with the stream that begins. The stream ends when the client or `stream.end()` ends it.
   * An error would cut the connection, so the route checks the request before.
   */
  | { readonly stream: (stream: EventStream) => void };

export interface ApiRequest {
  readonly request: IncomingMessage;
  /** The parts of the path in braces, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Calls the listener when the answer has been written, or the connection has closed. */
  readonly onClosed: (listener: () => void) => void;
}

export interface Route {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Such as `/elections/{election}/leader`. */
  readonly path: string;
  handle(request: ApiRequest): Promise<Answer> | Answer;
}
