import { request } from 'node:https';
import { text } from 'node:stream/consumers';

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
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const settings = { method, ca, agent: false, headers, signal: AbortSignal.timeout(CALL_TIMEOUT_MS) };
  const { promise, resolve, reject } = Promise.withResolvers<ApiAnswer>();
  const sent = request(new URL(path, url), settings, (response) => {
    const { statusCode: status = 0 } = response;
    text(response).then((said) => resolve({ status, body: parsed(said) }), reject);
  });
  sent.on('error', reject);
  sent.end(body === undefined ? undefined : JSON.stringify(body));
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
