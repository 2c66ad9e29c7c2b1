/** What the members of an election by best effort must agree on. */

import { checkKnown, checkNumber, invalidOption, marginRatio } from '@incumbent/core/adapter';
import { checkMembers } from '../members.ts';

/** What all elections by best effort have. */
export interface BestEffortOptions {
  /**
   * The ids of all members, the best first: 1 to 255, together at most 2,000 characters; the same
   * for all.
   */
  readonly members: readonly string[];
  /**
   * The time without a word of the leader after which it is held for dead, in ms: shorter finds a
   * dead one sooner, and takes a slow one for dead more often. From 50 to 600,000. Default 1,000.
   */
  readonly failureTimeoutMs?: number;
  /**
   * Time between the leader's heartbeats, in ms. From a fiftieth to a third of the failure timeout.
   * Default a fifth of it.
   */
  readonly heartbeatEveryMs?: number;
  /**
   * How long whoever is asked in an election may take to answer before the others do without it, in
   * ms: longer than a round trip. From a hundredth to half of the failure timeout. Default a fifth
   * of it.
   */
  readonly answerTimeoutMs?: number;
  /**
   * What the work gets to stop when leadership is lost, in ms. From 0 to a quarter of the failure
   * timeout. Default a tenth of it.
   */
  readonly drainMs?: number;
}

const known = ['members', 'failureTimeoutMs', 'heartbeatEveryMs', 'answerTimeoutMs', 'drainMs'];

/** The options with their defaults, and what follows from them. */
export interface Rules {
  readonly members: readonly string[];
  /** Where each member stands in the list: 0 is the best. */
  readonly ranks: ReadonlyMap<string, number>;
  readonly failureTimeoutMs: number;
  readonly heartbeatEveryMs: number;
  readonly answerTimeoutMs: number;
  /** How long after its sending a heartbeat keeps the others still. */
  readonly leaseMs: number;
  /** The part of it in which the leader believes; the rest is for its work to stop. */
  readonly validMs: number;
  /** What of it all must be the same everywhere. */
  readonly configuration: string;
}

const MAX_MEMBERS = 255;
/**
 * A message may name all members, and so does the configuration that goes with it: together they
 * must fit into a frame.
 */
const MAX_CHARACTERS = 2_000;
/** How far a clock's rate may be off. */
const CLOCK_ERROR_RATIO = 0.01;

/** `own`: the names of the options that only this algorithm has. */
export function resolveRules(name: string, options: BestEffortOptions, own: readonly string[]): Rules {
  checkKnown(name, options, [...known, ...own]);
  const members = checkMembers(options.members, MAX_MEMBERS);
  const characters = members.join('').length;
  if (characters > MAX_CHARACTERS)
    throw invalidOption('members', members, `ids of ${MAX_CHARACTERS} characters together at most: these have ${characters}`);
  const failureTimeoutMs = checkNumber('failureTimeoutMs', options.failureTimeoutMs, 1_000, { min: 50, max: 600_000 });
  // Divided, as whoever writes a third of it does: multiplied, the last digit may be another.
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
