import { randomBytes } from 'node:crypto';

/** A unique namespace, for a store that others use, too. */
export function uniqueNamespace(name = 'test'): string {
  return `${name}-${randomBytes(6).toString('hex')}`;
}
