import { randomBytes } from 'node:crypto';

/** A namespace that nobody else has, on a store that others use, too. */
export function uniqueNamespace(name = 'test'): string {
  return `${name}-${randomBytes(6).toString('hex')}`;
}
