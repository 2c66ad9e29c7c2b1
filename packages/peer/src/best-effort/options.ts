/** The options on which all members of a best-effort election must agree. */

import { checkKnown, checkNumber, invalidOption, marginRatio } from '@incumbent/core/adapter';
import { checkMembers, type ListedRules } from '../members.ts';

/** The options that all best-effort algorithms share. All members must use the same. */
export interface BestEffortOptions {
  /**
   * The ids of all members, the best first; the same list for all members. 1 to 255 ids, together
   * at most 2,000 characters.
   */
  readonly members: readonly string[];
  /**
   * The time without a heartbeat after which a member treats the leader as failed, in ms. A shorter
   * time finds a failed leader sooner, but mistakes a slow leader for a failed one more often. 50
   * to 600,000. Default: 1,000.
   */
  readonly failureTimeoutMs?: number | undefined;
  /**
   * Time between the leader's heartbeats, in ms. A fiftieth to a third of `failureTimeoutMs`.
   * Default: a fifth of it.
   */
  readonly heartbeatEveryMs?: number | undefined;
  /**
   * How long an election waits for a member's answer, in ms. It should be longer than a round trip.
   * A hundredth to half of `failureTimeoutMs`. Default: a fifth of it.
   */
  readonly answerTimeoutMs?: number | undefined;
  /**
   * The time that the work has to stop after a loss, in ms. 0 to a quarter of `failureTimeoutMs`.
   * Default: a tenth of it.
   */
  readonly drainMs?: number | undefined;
}

const known = ['members', 'failureTimeoutMs', 'heartbeatEveryMs', 'answerTimeoutMs', 'drainMs'];

/** The checked options, and the values that follow from them. */
export interface Rules extends ListedRules {
  /** The index of each member in `members`. 0 is the best. */
  readonly ranks: ReadonlyMap<string, number>;
  readonly failureTimeoutMs: number;
  readonly answerTimeoutMs: number;
}

const MAX_MEMBERS = 255;
/**
 * A message may name all members, and the configuration that goes with it names them again. Both
 * must fit into one frame.
 */
const MAX_CHARACTERS = 2_000;
/** How far the rate of any member's clock may be off: 1 %. */
const CLOCK_ERROR_RATIO = 0.01;

/** `own`: the names of the options that only this algorithm has. */
export function resolveRules(name: string, options: BestEffortOptions, own: readonly string[]): Rules {
  checkKnown(name, options, [...known, ...own]);
  const members = checkMembers(options.members, MAX_MEMBERS);
  const characters = members.join('').length;
  if (characters > MAX_CHARACTERS)
    throw invalidOption('members', members, `ids of ${MAX_CHARACTERS} characters together at most: these have ${characters}`);
  const failureTimeoutMs = checkNumber('failureTimeoutMs', options.failureTimeoutMs, 1_000, { min: 50, max: 600_000 });
  // Divide rather than multiply: a user who writes `timeout / 3` must get exactly the limit,
  // without a rounding error.
  const part = (option: 'heartbeatEveryMs' | 'answerTimeoutMs', [least, most]: readonly [number, number], why: string): number =>
    checkNumber(option, options[option], failureTimeoutMs / 5, {
      min: failureTimeoutMs / least,
      max: failureTimeoutMs / most,
      why: `${why} of failureTimeoutMs`,
    });
  const heartbeatEveryMs = part('heartbeatEveryMs', [50, 3], 'a fiftieth to a third');
  const answerTimeoutMs = part('answerTimeoutMs', [100, 2], 'a hundredth to half');
  const drainMs = checkNumber('drainMs', options.drainMs, failureTimeoutMs / 10, {
    min: 0,
    max: failureTimeoutMs / 4,
    why: 'at most a quarter of failureTimeoutMs',
  });
  const leaseMs = failureTimeoutMs * (1 - marginRatio(CLOCK_ERROR_RATIO));
  return {
    members,
    ranks: new Map(members.map((id, rank) => [id, rank])),
    failureTimeoutMs,
    heartbeatEveryMs,
    answerTimeoutMs,
    leaseMs,
    validMs: leaseMs - drainMs,
    configuration: `${name} 1, members ${members.join(' ')}, failure timeout ${failureTimeoutMs} ms`,
  };
}
