/** The options of `quorum`, on which all members must agree. */

import { checkKnown, checkNumber, checkOneOf, invalidOption, marginRatio } from '@incumbent/core/adapter';
import { checkMembers, type ListedRules } from '../members.ts';

/**
 * Which candidate a member prefers if several have data that reach equally far. `first-asked`: the
 * one that asks first (as in Raft). `highest-rank`: the one that comes first in `members`
 * (ZooKeeper's election prefers by id in a similar way). It is a preference only: a majority
 * without that candidate may elect another. A candidate that no majority answers within an election
 * timeout after its first refusal no longer refuses members of a lower rank.
 */
export type TieBreak = 'first-asked' | 'highest-rank';

/** The options of `quorum`, on which all members must agree. */
export interface QuorumOptions {
  /**
   * The ids of all members, 1 to 15; the same list for all members. An election needs a majority
   * of them. With `highest-rank`, the best first.
   */
  readonly members: readonly string[];
  /**
   * The shortest time without a heartbeat after which a member campaigns, in ms. Also the time for
   * which a member that has heard a leader votes for nobody. 50 to 600,000. Default: 1,000.
   */
  readonly electionTimeoutMinMs?: number | undefined;
  /**
   * The longest such time, in ms. Each member draws its time at random before each election. 1.2
   * to 10 times `electionTimeoutMinMs`. Default: twice that.
   */
  readonly electionTimeoutMaxMs?: number | undefined;
  /**
   * Time between heartbeats, in ms. A fiftieth to a third of `electionTimeoutMinMs`. Default: a
   * fifth of it.
   */
  readonly heartbeatEveryMs?: number | undefined;
  /**
   * The time that the work has to stop after a loss, in ms. 0 to a quarter of
   * `electionTimeoutMinMs`. Default: a tenth of it.
   */
  readonly drainMs?: number | undefined;
  /** How far the rate of any member's clock may be off: 0.01 is 1 %. 0 to 0.1. Default: 0.01. */
  readonly clockErrorRatio?: number | undefined;
  /** Default: `first-asked`. */
  readonly tieBreak?: TieBreak | undefined;
}

const known = ['members', 'electionTimeoutMinMs', 'electionTimeoutMaxMs', 'heartbeatEveryMs', 'drainMs', 'clockErrorRatio', 'tieBreak'];

/** The checked options, and the values that follow from them. */
export interface Rules extends ListedRules {
  readonly majority: number;
  readonly electionTimeoutMinMs: number;
  readonly electionTimeoutMaxMs: number;
  readonly tieBreak: TieBreak;
}

const MAX_MEMBERS = 15;
/**
 * The range of `electionTimeoutMinMs`, in ms. It is also the range of a follower's promise, which
 * lasts for that timeout.
 */
export const PROMISE_RANGE_MS = { min: 50, max: 600_000 } as const;
/** One heartbeat may be lost, and half an interval remains for the answer to the next. */
const BEATS = 2.5;

export function majorityOf(members: readonly string[]): number {
  return Math.floor(members.length / 2) + 1;
}

export function resolveRules(options: QuorumOptions): Rules {
  checkKnown('quorum', options, known);
  const members = checkMembers(options.members, MAX_MEMBERS);
  const min = checkNumber('electionTimeoutMinMs', options.electionTimeoutMinMs, 1_000, PROMISE_RANGE_MS);
  const max = checkNumber('electionTimeoutMaxMs', options.electionTimeoutMaxMs, 2 * min, {
    min: 1.2 * min,
    max: 10 * min,
    why: '1.2 to 10 times electionTimeoutMinMs: members that draw much the same time split the vote',
  });
  const heartbeatEveryMs = checkNumber('heartbeatEveryMs', options.heartbeatEveryMs, min / 5, {
    min: min / 50,
    max: min / 3,
    why: 'a fiftieth to a third of electionTimeoutMinMs',
  });
  const drainMs = checkNumber('drainMs', options.drainMs, min / 10, {
    min: 0,
    max: min / 4,
    why: 'at most a quarter of electionTimeoutMinMs',
  });
  const clockErrorRatio = checkNumber('clockErrorRatio', options.clockErrorRatio, 0.01, { min: 0, max: 0.1 });
  const tieBreak = checkOneOf('tieBreak', options.tieBreak, 'first-asked', ['first-asked', 'highest-rank']);
  // The worst case of two clocks: the leader's runs slow, and that of a member that promised not to
  // vote runs fast.
  const leaseMs = min * (1 - marginRatio(clockErrorRatio));
  const validMs = leaseMs - drainMs;
  if (BEATS * heartbeatEveryMs > validMs)
    throw invalidOption(
      `${BEATS} × heartbeatEveryMs`,
      BEATS * heartbeatEveryMs,
      `at most electionTimeoutMinMs − margin − drainMs = ${Math.round(validMs)}, so that a lost heartbeat ends no leadership`,
    );
  const listed = tieBreak === 'highest-rank' ? members : members.toSorted();
  return {
    members,
    majority: majorityOf(members),
    electionTimeoutMinMs: min,
    electionTimeoutMaxMs: max,
    heartbeatEveryMs,
    leaseMs,
    validMs,
    tieBreak,
    configuration: `quorum 1, members ${listed.join(' ')}, election timeout ${min} to ${max} ms, clock error ${clockErrorRatio}, ${tieBreak}`,
  };
}
