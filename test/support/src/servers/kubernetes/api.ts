import { request } from 'node:https';
import { text as textOf } from 'node:stream/consumers';

import type { ApiAnswer } from './types.ts';

const CALL_TIMEOUT_MS = 10_000;

/** Where an API server is, and as whom to call it. */
export interface ApiAddress {
  readonly url: string;
  /** In PEM. */
  readonly ca: string;
  readonly token: string;
}

/** Sends one request on a connection of its own. Resolves with every status. */
export async function callApi({ url, ca, token }: ApiAddress, method: string, path: string, body?: unknown): Promise<ApiAnswer> {
  const text = body === undefined ? '' : JSON.stringify(body);
  // Without the length, Node would send the body of a DELETE so that the server ignores it.
  const length = { 'content-length': String(Buffer.byteLength(text)) };
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const headers = { authorization: `Bearer ${token}`, 'content-type': type, ...length };
  const settings = { method, ca, agent: false, headers, signal: AbortSignal.timeout(CALL_TIMEOUT_MS) };
  const { promise, resolve, reject } = Promise.withResolvers<ApiAnswer>();
  const sent = request(new URL(path, url), settings, (response) => {
    const { statusCode: status = 0 } = response;
    textOf(response).then((said) => resolve({ status, body: parsed(said) }), reject);
  });
  sent.on('error', reject);
  sent.end(text);
  return promise;
}

/** Some errors are plain text. */
function parsed(said: string): unknown {
  try {
    return JSON.parse(said);
  } catch {
    return said;
  }
}
