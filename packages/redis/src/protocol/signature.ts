/** What shows that a script of this namespace has told of a change, and has not told of it before: see `scripts/prelude.ts`. */

import { createHash, timingSafeEqual } from 'node:crypto';

import { wordsIn } from './changes.ts';
import { bytesOf, listOf, malformed, textOf } from '../namespace.ts';
import type { Reply } from './resp.ts';

/** Hexadecimal digits of a SHA-1. */
const SIGNATURE_LENGTH = 40;
/**
 * Longer messages are ignored before they are hashed, which takes time. A script's longest message tells that a lease is gone: 2,500
 * keys, the most that one lease should bind, of at most 1.5 KiB each. For a longer message, watches rely on the server's own
 * notice of touched keys.
 */
export const MAX_SEALED_BYTES: number = 4 * 2 ** 20;
/** Stamps are microseconds since the epoch, which have 16 digits. */
const STAMP = /^\d{1,19}$/;

export class Seal {
  readonly #secret: string;
  #last: bigint;

  /** `last`: the last stamp that the server has given. What was told by then counts as told before. */
  constructor(secret: string, last: bigint) {
    this.#secret = secret;
    this.#last = last;
  }

  /** The stamp of the last message that was taken. */
  get last(): bigint {
    return this.#last;
  }

  /** The words of a message. Undefined where no script has told it, or it was told before: then it says nothing. */
  open(message: Uint8Array): readonly Uint8Array[] | undefined {
    if (message.length > MAX_SEALED_BYTES) return undefined;
    const payload = message.subarray(SIGNATURE_LENGTH);
    if (!isSame(message.subarray(0, SIGNATURE_LENGTH), signatureOf(this.#secret, payload))) return undefined;
    const [stampWord, ...words] = wordsIn(payload);
    const stamp = textOf(stampWord);
    if (!STAMP.test(stamp) || BigInt(stamp) <= this.#last) return undefined;
    this.#last = BigInt(stamp);
    return words;
  }

  hasSecretOf(other: Seal): boolean {
    return this.#secret === other.#secret;
  }
}

/** Twice, as a signature that were made of the secret and the text alone could be made longer by whoever has read it. */
export function signatureOf(secret: string, payload: Uint8Array): Uint8Array {
  return Buffer.from(sha1(secret, sha1(secret, payload)));
}

/** From the answer of the script `seal`. Throws an `ExchangeError` for what it never answers with. */
export function readSeal(answer: Reply): Seal {
  const [secret = '', stamp = ''] = listOf(answer).map((word) => textOf(bytesOf(word)));
  if (secret === '' || !STAMP.test(stamp)) throw malformed();
  return new Seal(secret, BigInt(stamp));
}

function sha1(secret: string, text: string | Uint8Array): string {
  return createHash('sha1').update(secret).update(text).digest('hex');
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
