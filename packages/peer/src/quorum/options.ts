/** What the members of a vote must agree on before they vote on anything. */

import { checkKnown, checkNumber, checkOneOf, invalidOption, marginRatio } from '@incumbent/core/adapter';
import { checkMembers } from '../members.ts';

/**
 * Whom the members prefer among those whose data reach equally far. `first-asked`: whoever asks
 * first (Raft). `highest-rank`: the one that stands further to the front of `members` (ZooKeeper's
 * election prefers by id in the same way); a preference, as a majority without it may elect
 * another.
 */
export type TieBreak = 'first-asked' | 'highest-rank';

export interface QuorumOptions {
  /**
   * The ids of all members, 1 to 15; the same for all. A majority of them must be there to elect.
   * With `highest-rank`, the best first.
   */
  readonly members: readonly string[];
  /**
   * The shortest time without a word of the leader after which a member stands for election, in ms;
   * and the time for which a member that has heard one votes for nobody else. From 50 to 600,000.
   * Default 1,000.
   */
  readonly electionTimeoutMinMs?: number;
  /**
   * The longest, in ms: each member draws its time anew. From 1.2 to 10 times the shortest. Default
   * twice the shortest.
   */
  readonly electionTimeoutMaxMs?: number;
  /**
   * Time between heartbeats, in ms. From a fiftieth to a third of the shortest election timeout.
   * Default a fifth of it.
   */
  readonly heartbeatEveryMs?: number;
  /**
   * What the work gets to stop when leadership is lost, in ms. From 0 to a quarter of the shortest
   * election timeout. Default a tenth of it.
   */
  readonly drainMs?: number;
  /**
   * How far the rate of any member's clock may be off: 0.01 is 1 %. From 0 to 0.1. Default 0.01.
   */
  readonly clockErrorRatio?: number;
  /** Default `first-asked`. */
  readonly tieBreak?: TieBreak;
}

const known = ['members', 'electionTimeoutMinMs', 'electionTimeoutMaxMs', 'heartbeatEveryMs', 'drainMs', 'clockErrorRatio', 'tieBreak'];

/** The options with their defaults, and what follows from them. */
export interface Rules {
  readonly members: readonly string[];
  readonly majority: number;
  readonly electionTimeoutMinMs: number;
  readonly electionTimeoutMaxMs: number;
  readonly heartbeatEveryMs: number;
  /**
   * How long a majority's answers to a round vouch for its sender, from the sending of the round.
   */
  readonly leaseMs: number;
  /** The part of it in which the leader believes; the rest is for its work to stop. */
  readonly validMs: number;
  readonly tieBreak: TieBreak;
  readonly configuration: string;
}

const MAX_MEMBERS = 15;
/** One is lost, and half an interval is left for the answer to the next. */
const BEATS = 2.5;

export function majorityOf(members: readonly string[]): number {
  return Math.floor(members.length / 2) + 1;
}

export function resolveRules(options: QuorumOptions): Rules {
  checkKnown('quorum', options, known);
  const members = checkMembers(options.members, MAX_MEMBERS);
  const min = checkNumber('electionTimeoutMinMs', options.electionTimeoutMinMs, 1_000, { min: 50, max: 600_000 });
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
  // Two clocks at their worst: the leader's runs slow, and that of whoever keeps still for it fast.
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
