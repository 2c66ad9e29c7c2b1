/** The profiles: what the worlds of each are put through. */

import { invalidText } from '@incumbent/core/adapter';
import type { Profile } from './profile.ts';
import { adversarial, calm, reaped, stormy } from './safe-profiles.ts';
import { amnesia, clocks, earlyEnd, operator, untold, wiped } from './weak-profiles.ts';

/** First those in which every promise holds; then those of what the docs warn of. */
export const profiles: readonly Profile[] = [calm, stormy, adversarial, reaped, operator, earlyEnd, untold, amnesia, wiped, clocks];

/** The profile of that name; a `RangeError` where there is none. */
export function profileOf(name: string): Profile {
  const found = profiles.find((profile) => profile.name === name);
  if (found !== undefined) return found;
  throw invalidText('profile', name, `one of ${profiles.map((profile) => profile.name).join(', ')}`);
}
