/** The passwords of sessions, as servers tell them: who has one can end the session, as an operator may. */

import type { Socket } from 'node:net';

import { Deframer } from '@incumbent/network';

import { RecordFraming } from '../../src/protocol/frame.ts';
import { readWelcome, type SessionIdentity } from '../../src/protocol/hello.ts';
import { leaseIdOf } from '../../src/namespace.ts';

const MAX_BYTES = 1_000_000;

export class Passwords {
  readonly #identities = new Map<string, SessionIdentity>();

  /** Listens to the first words of a server, past whoever reads the socket. */
  listen(socket: Socket): void {
    const deframer = new Deframer(new RecordFraming(MAX_BYTES));
    const emit = socket.emit.bind(socket);
    let heard = false;
    socket.emit = (event: string, ...values: unknown[]): boolean => {
      const [chunk] = values;
      if (!heard && event === 'data' && chunk instanceof Uint8Array) {
        for (const record of deframer.push(new Uint8Array(chunk))) {
          if (!heard) this.#keep(readWelcome(record));
          heard = true;
        }
      }
      return emit(event, ...values);
    };
  }

  identity(lease: string): SessionIdentity {
    const identity = this.#identities.get(lease);
    if (identity === undefined) throw new Error(`no server has told the password of ${lease}`);
    return identity;
  }

  #keep({ timeoutMs, identity }: { readonly timeoutMs: number; readonly identity: SessionIdentity }): void {
    if (timeoutMs > 0) this.#identities.set(leaseIdOf(identity.id), identity);
  }
}
