/**
 * Proves that a script of this namespace has published a message, and that the message is not a
 * repetition. `scripts/prelude.ts` signs the messages.
 */

import { createHash, timingSafeEqual } from 'node:crypto';

import { fieldsIn } from './changes.ts';
import { malformed } from './failure.ts';
import { bytesOf, listOf, textOf } from './replies.ts';
import type { Reply } from './resp.ts';

/** The hexadecimal digits of a SHA-1. */
const SIGNATURE_LENGTH = 40;
/**
 * Longer messages are ignored before they are hashed, which takes time. The longest message of a
 * script says that a lease has ended: 2,500 keys, the most that one lease should bind, of at most
 * 1.5 KiB each. Instead of a longer message, watches rely on the server's own notice of changed
 * keys.
 */
export const MAX_MESSAGE_BYTES: number = 4 * 2 ** 20;
/** Stamps are microseconds since 1970, which have 16 digits. */
const STAMP = /^\d{1,19}$/;

export class MessageVerifier {
  readonly #secret: string;
  #lastStamp: bigint;

  /**
   * `lastStamp`: the last stamp that the server has given. Messages with this stamp or a lower one
   * count as repetitions.
   */
  constructor(secret: string, lastStamp: bigint) {
    this.#secret = secret;
    this.#lastStamp = lastStamp;
  }

  /** The stamp of the last message that was accepted. */
  get lastStamp(): bigint {
    return this.#lastStamp;
  }

  /**
   * The fields of a message after its stamp. Undefined if the signature is not of this secret, or
   * if the stamp is not above the last one. Throws an `ExchangeError` if a signed message has no
   * fields.
   */
  verify(message: Uint8Array): readonly Uint8Array[] | undefined {
    if (message.length > MAX_MESSAGE_BYTES) return undefined;
    const payload = message.subarray(SIGNATURE_LENGTH);
    if (!isEqual(message.subarray(0, SIGNATURE_LENGTH), signatureOf(this.#secret, payload))) return undefined;
    const [stampField, ...fields] = fieldsIn(payload);
    const stamp = textOf(stampField);
    if (!STAMP.test(stamp) || BigInt(stamp) <= this.#lastStamp) return undefined;
    this.#lastStamp = BigInt(stamp);
    return fields;
  }

  hasSameSecret(other: MessageVerifier): boolean {
    return this.#secret === other.#secret;
  }
}

/**
 * Hashes twice: anybody who has read one SHA-1 of the secret and a text could compute that of a
 * longer text.
 */
export function signatureOf(secret: string, payload: Uint8Array): Uint8Array {
  return Buffer.from(sha1(secret, sha1(secret, payload)));
}

/** From the answer of `secretScript`. Throws an `ExchangeError` for any other answer. */
export function verifierFrom(answer: Reply): MessageVerifier {
  const [secretField, stampField] = listOf(answer);
  const [secret, stamp] = [textOf(bytesOf(secretField)), textOf(bytesOf(stampField))];
  if (secret === '' || !STAMP.test(stamp)) throw malformed();
  return new MessageVerifier(secret, BigInt(stamp));
}

function sha1(secret: string, text: string | Uint8Array): string {
  return createHash('sha1').update(secret).update(text).digest('hex');
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
