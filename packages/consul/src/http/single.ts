/**
 * A connection for each request, by what Node has built in: for a process that makes a request or two in its life, and should be small (undici takes some 10 to
 * 18 MB, `node:http` 3).
 */

import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';

import { onAbort } from '@incumbent/core/adapter';
import { type Attempt, endpointName } from '@incumbent/network';

import type { Answer, Carrier, Outgoing } from './carrier.ts';
import { Dialler, type DialOptions } from './dialler.ts';
import { ExchangeError } from './failure.ts';

export class Single implements Carrier {
  readonly #host: string;
  readonly #dialler: Dialler;
  readonly #sockets = new Set<Socket>();

  constructor(options: DialOptions) {
    this.#host = endpointName(options.endpoint);
    this.#dialler = new Dialler(options);
  }

  async carry(outgoing: Outgoing, attempt: Attempt): Promise<Answer> {
    const dialled = this.#dial();
    // One that comes when nobody waits for it any more goes, too.
    const cancel = onAbort(attempt.signal, () => void dialled.then((socket) => socket.destroy()).catch(() => {}));
    try {
      const socket = await attempt.wait(dialled);
      return await attempt.wait(this.#exchange(outgoing, attempt, socket));
    } finally {
      cancel();
    }
  }

  async close(): Promise<void> {
    this.#dialler.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #dial(): Promise<Socket> {
    try {
      const socket = await this.#dialler.dial();
      this.#sockets.add(socket);
      return socket.once('close', () => this.#sockets.delete(socket));
    } catch (error) {
      throw failed('notConnected', error);
    }
  }

  async #exchange({ method, path, headers, body = '' }: Outgoing, attempt: Attempt, socket: Socket): Promise<Answer> {
    try {
      const message = await new Promise<IncomingMessage>((resolve, reject) => {
        const request = httpRequest({ method, path, headers: { host: this.#host, ...headers }, createConnection: () => socket });
        request.once('response', resolve).once('error', reject);
        attempt.sent = true;
        request.end(body);
      });
      const header = (name: string): string | undefined => [message.headers[name]].flat()[0];
      return { status: message.statusCode ?? 0, text: await text(message), header };
    } catch (error) {
      throw failed('cut', error);
    } finally {
      socket.destroy();
    }
  }
}

function failed(kind: 'cut' | 'notConnected', error: unknown): ExchangeError {
  return new ExchangeError({ kind }, error instanceof Error ? error.message : String(error), error);
}
