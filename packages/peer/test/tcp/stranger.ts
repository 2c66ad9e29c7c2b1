/** A client that connects to a member's port and sends arbitrary bytes. */

import { connect, Socket } from 'node:net';
import { LOOPBACK } from '@incumbent/test-support';
import { HANDSHAKE_BYTES, handshakeAsDialer, newIncarnation, type Handshake, type Security } from '../../src/tcp/handshake.ts';
import { Wire } from '../../src/tcp/wire.ts';
import { SECRET } from './group.ts';

export const PREFACE = Buffer.from('IncPeer1');

export class Stranger implements Disposable {
  readonly socket: Socket;
  /** All bytes received. */
  heard: Buffer = Buffer.alloc(0);
  readonly closed: Promise<void>;

  constructor(port: number) {
    this.socket = connect({ host: LOOPBACK, port, noDelay: true });
    this.socket.on('error', () => {});
    // A socket that is not read does not emit its end either.
    this.socket.resume();
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
  }

  say(...parts: readonly (Uint8Array | string)[]): this {
    for (const part of parts) this.socket.write(part);
    return this;
  }

  listen(): this {
    this.socket.on('data', (chunk: Buffer) => {
      this.heard = Buffer.concat([this.heard, chunk]);
    });
    return this;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

/** Encodes a frame's length. */
export function announced(bytes: number): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes);
  return length;
}

export function framed(content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([announced(bytes.length), bytes]);
}

/** Proves that it is this member. */
export async function prove(
  { socket }: Stranger,
  from: string,
  to: string,
  security: Security = { kind: 'secret', secrets: [Buffer.from(SECRET)] },
): Promise<{ readonly wire: Wire; readonly handshake: Handshake }> {
  const wire = new Wire(socket, HANDSHAKE_BYTES);
  return { wire, handshake: await handshakeAsDialer(wire, { memberId: from, incarnation: newIncarnation(), security }, to) };
}

/** A member that authenticates and then sends what the test wants. */
export async function accomplice(
  port: number,
  from: string,
  to: string,
): Promise<{ readonly stranger: Stranger; readonly handshake: Handshake; readonly wire: Wire } & Disposable> {
  const stranger = new Stranger(port);
  await new Promise((resolve) => stranger.socket.once('connect', resolve));
  return { stranger, ...(await prove(stranger, from, to)), [Symbol.dispose]: () => stranger[Symbol.dispose]() };
}

/** A socket under the test's control. Pushed bytes arrive. */
export function line(): { readonly socket: Socket; readonly said: Buffer[] } {
  const said: Buffer[] = [];
  const socket = new Socket({ allowHalfOpen: true });
  const controlled = {
    _read: () => {},
    _write: (chunk: Buffer, _encoding: string, done: () => void) => {
      said.push(chunk);
      done();
    },
    destroySoon: () => socket.destroy(),
  };
  return { socket: Object.assign(socket, controlled), said };
}

export const settled = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
