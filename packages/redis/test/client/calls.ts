/** Clients of fake servers, and how their calls end. */

import { toStoreError } from '../../src/errors.ts';
import type { Client } from '../../src/client/client.ts';
import type { Connection } from '../../src/client/connection.ts';
import { FakeServers, type Answer } from '../fake-servers.ts';

export const CALL = { timeoutMs: 500 };

export const TWO = {
  endpoints: [
    { host: 'one', port: 1 },
    { host: 'two', port: 2 },
  ],
};

export const ping = (connection: Connection): Promise<unknown> => connection.request(['PING'], (reply) => reply);

/** How a call ends: its answer, or the code and the outcome of its error. */
export async function endOf(servers: FakeServers, call: Promise<unknown>): Promise<unknown> {
  const ended = call.then(
    (answer) => answer,
    (error: unknown) => {
      const { code, outcome } = toStoreError(error, 'call');
      return `${code} ${outcome}`;
    },
  );
  return servers.clock.run(ended);
}

/** A call that may fail before anybody awaits it. */
export function start(client: Client, timeoutMs: number = CALL.timeoutMs): Promise<unknown> {
  const call = client.call(ping, { timeoutMs });
  call.catch(() => {});
  return call;
}

export interface Served {
  readonly servers: FakeServers;
  readonly client: Client;
}

export function serving(answer: Answer, options: Parameters<FakeServers['client']>[0] = {}): Served {
  const servers = new FakeServers(answer);
  return { servers, client: servers.client(options) };
}

export const pongs: Answer = ([name]) => (name === 'PING' ? '+PONG\r\n' : name === 'HELLO' ? undefined : '+OK\r\n');
