import { readFile } from 'node:fs/promises';
import { request as requestPlain } from 'node:http';
import { request as requestSecure, type RequestOptions } from 'node:https';
import { text } from 'node:stream/consumers';

import type { Certificates } from './certificates.ts';

export interface AskOptions {
  readonly method?: 'GET' | 'POST';
  readonly body?: string;
  readonly certificates?: Certificates | undefined;
  /** Default 1,000. */
  readonly timeoutMs?: number;
}

/**
 * Sends one request on a connection of its own, and returns the body of the answer. Throws if the
 * status is not 200.
 */
export async function ask(url: string, options: AskOptions = {}): Promise<string> {
  const { method = 'GET', body = '', certificates, timeoutMs = 1_000 } = options;
  const secure = url.startsWith('https:');
  const settings: RequestOptions = {
    ...(secure && certificates !== undefined ? await identity(certificates) : {}),
    method,
    agent: false,
    signal: AbortSignal.timeout(timeoutMs),
  };
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const send = secure ? requestSecure : requestPlain;
  const request = send(url, settings, (response) => {
    const answer = text(response);
    if (response.statusCode === 200) answer.then(resolve, reject);
    else answer.then((said) => reject(new Error(`${url}: ${response.statusCode} ${said}`)), reject);
  });
  request.on('error', reject);
  request.end(body);
  return promise;
}

async function identity({ ca, client }: Certificates): Promise<RequestOptions> {
  const [authority, cert, key] = await Promise.all([ca, client.cert, client.key].map((file) => readFile(file)));
  return { ca: authority, cert, key };
}
