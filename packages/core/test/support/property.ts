/** Properties, checked on the same cases in every run. */

import fc from 'fast-check';

export function check<T>(property: fc.IProperty<T>, options: fc.Parameters<T> = {}): void {
  fc.assert(property, { seed: 20_300_101, ...options });
}
