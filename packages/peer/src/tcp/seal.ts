/**
 * Authenticates frames by HMAC-SHA-256 over the frame's number and content. Each direction of each
 * connection has its own key. (HKDF: RFC 5869; HMAC: RFC 2104.) So a frame that is changed,
 * dropped, repeated, reordered or reflected to its sender is detected.
 */

import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { Refused } from './refusal.ts';

export const SEAL_BYTES = 32;

/** Which side of the connection: the one that dialled, or the one that listened. */
export type Side = 'dialer' | 'listener';

/** Signs or verifies the frames of one direction of one connection. */
export interface Seal {
  /** Returns the bytes that precede the next content. */
  sign(content: Uint8Array): Uint8Array;
  /**
   * Returns the content of the next frame. Throws `Refused` unless the frame is the next one that
   * the other side has sealed.
   */
  open(frame: Buffer): Buffer;
}

/** Used if TLS authenticates the frames, or if there is no security. */
export const unsealed: Seal = { sign: () => new Uint8Array(), open: (frame) => frame };

/**
 * The keys that both sides derive from the secret and from the handshake so far, which contains a
 * random number of each side.
 */
export class SharedKeys {
  readonly #secret: Uint8Array;
  readonly #transcript: Uint8Array;

  constructor(secret: Uint8Array, messages: readonly Uint8Array[]) {
    this.#secret = secret;
    const hash = createHash('sha256');
    for (const part of messages) hash.update(createHash('sha256').update(part).digest());
    this.#transcript = hash.digest();
  }

  /** Proves that this side knows the secret now. */
  proof(side: Side): Buffer {
    return createHmac('sha256', this.#key(`proof of the ${side}`))
      .update(this.#transcript)
      .digest();
  }

  /** The seal for the frames that this side sends. */
  seal(side: Side): Seal {
    return new HmacSeal(this.#key(`frames of the ${side}`));
  }

  #key(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#secret, this.#transcript, `incumbent peer 1, ${purpose}`, SEAL_BYTES));
  }
}

class HmacSeal implements Seal {
  readonly #key: Buffer;
  #number = 0n;

  constructor(key: Buffer) {
    this.#key = key;
  }

  sign(content: Uint8Array): Buffer {
    const number = Buffer.alloc(8);
    number.writeBigUInt64BE(this.#number);
    this.#number += 1n;
    return createHmac('sha256', this.#key).update(number).update(content).digest();
  }

  open(frame: Buffer): Buffer {
    const content = frame.subarray(SEAL_BYTES);
    if (!isEqual(frame.subarray(0, SEAL_BYTES), this.sign(content))) throw new Refused('forged');
    return content;
  }
}

/** Compares in constant time, so that the time reveals nothing about the difference. */
export function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
