/**
 * Which versions a member takes from others. A false one must not use up the versions that are
 * left.
 */

import type { EmergentMessage } from './message.ts';
import type { EmergentState } from './state.ts';

/** A version up to this one is taken from every member. */
const HIGHEST_TAKEN = 2 ** 52;
/** Above that, so many changes may have been missed: at a change a second, those of 136 years. */
const MOST_MISSED = 2 ** 32;
/**
 * A member that joins knows no version. It takes a list that has risen by false versions, while
 * there is room above.
 */
const HIGHEST_JOINED = 2 ** 52 + 2 ** 51;

/**
 * The version that this message would raise its receiver to; undefined: none, as with a probe or an
 * invitation.
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
 * The version of this message, if changes of the list cannot have come to it; undefined: they can
 * have.
 */
export function falseVersionOf({ phase, seenVersion }: EmergentState, message: EmergentMessage): number | undefined {
  const version = versionOf(message) ?? 0;
  const highest = phase.kind === 'present' ? Math.max(seenVersion, HIGHEST_TAKEN) + MOST_MISSED : HIGHEST_JOINED;
  return version > highest ? version : undefined;
}
