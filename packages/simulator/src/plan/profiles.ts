/** The list of profiles. */

import { invalidText } from '@incumbent/core/adapter';
import type { Profile } from './profile.ts';
import { adversarial, blocked, calm, reaped, stormy } from './safe-profiles.ts';
import { amnesia, clocks, earlyEnd, operator, untold, wiped } from './weak-profiles.ts';

/**
 * All profiles. Those in which every promise holds come first. Then come those that test documented
 * weaknesses.
 */
export const profiles: readonly Profile[] = [
  calm,
  stormy,
  adversarial,
  reaped,
  blocked,
  operator,
  earlyEnd,
  untold,
  amnesia,
  wiped,
  clocks,
];

/**
 * Returns the profile with this name.
 *
 * @throws {RangeError} If there is no such profile.
 */
export function profileOf(name: string): Profile {
  const found = profiles.find((profile) => profile.name === name);
  if (found !== undefined) return found;
  throw invalidText('profile', name, `one of ${profiles.map((profile) => profile.name).join(', ')}`);
}
