/** A secret by which a client proves that what it asks about is its own. */

import { randomBytes, timingSafeEqual } from 'node:crypto';

export function newSecret(): string {
  return randomBytes(24).toString('base64url');
}

/** Takes the same time for every wrong secret of the right length. All secrets have one length. */
export function isSecret(given: string, secret: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(secret)];
  return one.length === other.length && timingSafeEqual(one, other);
}
