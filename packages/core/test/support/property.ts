/** Properties, checked on the same cases in every run. */

import fc from 'fast-check';

export const SEED = 20_300_101;

export function check<T>(property: fc.IProperty<T>, options: fc.Parameters<T> = {}): void {
  fc.assert(property, { seed: SEED, ...options });
}
