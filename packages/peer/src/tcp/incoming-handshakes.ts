/**
 * The incoming connections that have not proved an id yet. Their number and their time are limited.
 */

import type { Socket } from 'node:net';
import type { Clock } from '@incumbent/core';
import { type Handshake, type HandshakeChecks, HANDSHAKE_BYTES, handshakeAsListener, type MemberIdentity } from './handshake.ts';
import { Refused } from './refusal.ts';
import { Wire } from './wire.ts';

/**
 * A member authenticates within milliseconds. Above this limit, the connection that has waited
 * longest is closed, as it is the least likely to be a member's.
 */
const MOST_WAITING = 64;

export interface IncomingHandshakesContext {
  readonly clock: Clock;
  readonly handshakeTimeoutMs: number;
  readonly self: MemberIdentity;
  readonly checks: HandshakeChecks;
  /**
   * Completes the TLS handshake, if there is one. Resolves with the socket inside it. Rejects with
   * a `Refused`.
   */
  readonly secure: (socket: Socket) => Promise<Socket>;
  /** Why the certificate does not prove this id. Undefined: it does, or there is no TLS. */
  readonly checkCertificate: (socket: Socket, memberId: string) => Refused | undefined;
  readonly welcome: (wire: Wire, handshake: Handshake) => void;
  readonly refuse: (refused: Refused) => void;
}

export class IncomingHandshakes {
  readonly #context: IncomingHandshakesContext;
  readonly #waiting = new Set<(why: unknown) => void>();

  constructor(context: IncomingHandshakesContext) {
    this.#context = context;
  }

  /** Never rejects. */
  async accept(raw: Socket): Promise<void> {
    const { clock, handshakeTimeoutMs, refuse, welcome } = this.#context;
    const dismissal = Promise.withResolvers<never>();
    const dismiss = (why: unknown): void => {
      dismissal.reject(why);
      raw.destroy();
    };
    this.#waiting.add(dismiss);
    const late = clock.schedule(handshakeTimeoutMs, () => dismiss(new Refused('handshakeTimeout')));
    const leave = (): void => {
      late();
      this.#waiting.delete(dismiss);
    };
    if (this.#waiting.size > MOST_WAITING) this.#dismissFirst();
    const address = raw.remoteAddress;
    raw.on('error', dismiss);
    try {
      const { wire, handshake } = await Promise.race([this.#authenticate(raw), dismissal.promise]);
      leave();
      welcome(wire, handshake);
    } catch (error) {
      if (error instanceof Refused) refuse(new Refused(error.reason, { address, ...error.facts }));
      // The other side may still be reading the reason. It has the rest of its time limit for this.
      if (raw.closed) leave();
      else raw.once('close', leave);
    }
  }

  close(why: unknown): void {
    for (const dismiss of this.#waiting) dismiss(why);
  }

  #dismissFirst(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    this.#waiting.delete(first);
    first(new Refused('tooManyConnections'));
  }

  async #authenticate(raw: Socket): Promise<{ readonly wire: Wire; readonly handshake: Handshake }> {
    const { self, checks, secure, checkCertificate } = this.#context;
    const socket = await secure(raw);
    const wire = new Wire(socket, HANDSHAKE_BYTES);
    const claimed = (from: string, to: string): Refused | undefined => checks.claimed(from, to) ?? checkCertificate(socket, from);
    try {
      return { wire, handshake: await handshakeAsListener(wire, self, { ...checks, claimed }) };
    } catch (error) {
      wire.destroy(error);
      throw error;
    }
  }
}
