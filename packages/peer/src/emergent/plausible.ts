/**
 * Decides which versions a member accepts from others. A forged version must not use up the
 * versions that are left.
 */

import type { EmergentMessage } from './message.ts';
import type { EmergentState } from './state.ts';

/** A member accepts every version up to this one. */
const HIGHEST_TAKEN = 2 ** 52;
/**
 * Above `HIGHEST_TAKEN`, a member accepts a version if it can have missed the changes in between,
 * at most this many. With one change per second, this many take 136 years.
 */
const MOST_MISSED = 2 ** 32;
/**
 * A process that joins knows no version. It accepts a list whose version forged messages have
 * raised, as long as enough versions are left above.
 */
const HIGHEST_JOINED = 2 ** 52 + 2 ** 51;

/**
 * The version to which this message would raise its receiver. Undefined: none, for example for a
 * probe or an invitation.
 */
function versionOf(message: EmergentMessage): number | undefined {
  switch (message.type) {
    case 'update':
      return message.list.version;
    case 'heartbeat':
    case 'pull':
      return message.version;
    case 'answer':
      return Math.max(message.version, message.list?.version ?? 0);
    default:
      return undefined;
  }
}

/**
 * The version of this message, if changes of the list cannot have reached it. Undefined: the
 * version is plausible.
 */
export function falseVersionOf({ phase, seenVersion }: EmergentState, message: EmergentMessage): number | undefined {
  const version = versionOf(message) ?? 0;
  const highest = phase.kind === 'present' ? Math.max(seenVersion, HIGHEST_TAKEN) + MOST_MISSED : HIGHEST_JOINED;
  return version > highest ? version : undefined;
}
