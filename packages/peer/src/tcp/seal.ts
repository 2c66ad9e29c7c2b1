/**
 * What makes a frame the sender's own: HMAC-SHA-256 over the frame's number and its content, under
 * a key that is used for this connection and this direction alone. (HKDF: RFC 5869; HMAC: RFC
 * 2104.) A frame that is changed, left out, repeated, moved, or sent back to its sender has another
 * one.
 */

import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { Refused } from './refusal.ts';

export const SEAL_BYTES = 32;

/** Who of the two: the one that dialled, or the one that was dialled. */
export type Side = 'dialler' | 'listener';

/** One direction of one connection. */
export interface Seal {
  /** What goes before the next content. */
  sign(content: Uint8Array): Uint8Array;
  /**
   * The content of the next frame. Throws `Refused` where it is not the next that the other side
   * has sealed.
   */
  open(frame: Buffer): Buffer;
}

/** Where the connection itself vouches for what comes on it, or nobody does. */
export const unsealed: Seal = { sign: () => new Uint8Array(), open: (frame) => frame };

/**
 * What two that know the same secret derive from it, and from what they have said so far, which has
 * a random number from each of them.
 */
export class SharedKeys {
  readonly #secret: Uint8Array;
  readonly #transcript: Uint8Array;

  constructor(secret: Uint8Array, said: readonly Uint8Array[]) {
    this.#secret = secret;
    const hash = createHash('sha256');
    for (const part of said) hash.update(createHash('sha256').update(part).digest());
    this.#transcript = hash.digest();
  }

  /** That this side knows the secret, now. */
  proof(side: Side): Buffer {
    return createHmac('sha256', this.#key(`proof of the ${side}`))
      .update(this.#transcript)
      .digest();
  }

  /** For the frames that this side sends. */
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

/** In a time that does not tell where they differ. */
export function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
