/**
 * The passwords of sessions, taken from the servers' answers. With one, an operator can end the
 * session.
 */

import type { Socket } from 'node:net';

import { Deframer } from '@incumbent/network';

import { RecordFraming } from '../../src/protocol/frame.ts';
import { readWelcome, type SessionIdentity } from '../../src/protocol/hello.ts';
import { leaseIdOf } from '../../src/namespace.ts';

const MAX_BYTES = 1_000_000;

export class Passwords {
  readonly #identities = new Map<string, SessionIdentity>();

  /** Reads the server's first answer. The socket's own reader gets it too. */
  listen(socket: Socket): void {
    const deframer = new Deframer(new RecordFraming(MAX_BYTES));
    const emit = socket.emit.bind(socket);
    let isRead = false;
    socket.emit = (event: string, ...values: unknown[]): boolean => {
      const [chunk] = values;
      if (!isRead && event === 'data' && chunk instanceof Uint8Array) {
        for (const record of deframer.push(new Uint8Array(chunk))) {
          if (!isRead) this.#keep(readWelcome(record));
          isRead = true;
        }
      }
      return emit(event, ...values);
    };
  }

  identity(lease: string): SessionIdentity {
    const identity = this.#identities.get(lease);
    if (identity === undefined) throw new Error(`no server has sent the password of ${lease}`);
    return identity;
  }

  #keep({ timeoutMs, identity }: { readonly timeoutMs: number; readonly identity: SessionIdentity }): void {
    if (timeoutMs > 0) this.#identities.set(leaseIdOf(identity.id), identity);
  }
}
