/** The options on which all members of an open membership must agree. */

import { checkBoolean, checkKnown, checkName, checkNumber, checkOneOf, invalidOption, type NumberRange } from '@incumbent/core/adapter';

/** The options of `emergent`. All members of a cluster must use the same. */
export interface EmergentOptions {
  /**
   * The name of the cluster. Members refuse messages of another cluster, and two clusters never
   * merge.
   */
  readonly cluster: string;
  /** Time between heartbeats, in ms. 20 to 60,000. Default: 1,000. */
  readonly heartbeatEveryMs?: number | undefined;
  /**
   * How long a member may be silent before other members suspect it, in ms. With `phi`, a silence
   * up to this long never makes a member suspect. 3 to 100 times `heartbeatEveryMs`. Default: 5
   * times.
   */
  readonly failureTimeoutMs?: number | undefined;
  /**
   * `timeout`: a member is suspect after a silence of `failureTimeoutMs`. `phi`: after that time, a
   * member becomes suspect when its silence has become improbable, given the intervals between its
   * earlier heartbeats (Hayashibara et al., SRDS 2004). Default: `timeout`.
   */
  readonly detector?: 'timeout' | 'phi' | undefined;
  /**
   * With `phi`: the suspicion level. At 8, the chance that a live member is silent for so long is
   * 10⁻⁸. 1 to 16. Default: 8. Only with `detector: 'phi'`.
   */
  readonly phiThreshold?: number | undefined;
  /**
   * Where a member sends its heartbeats. `all`: to all other members, n² messages per interval. A
   * number k from 1 to 10: to k successors on the ring of ids, n × k messages per interval; members
   * report suspect members to the coordinator. Default: `all`.
   */
  readonly heartbeatsTo?: 'all' | number | undefined;
  /**
   * How long a member waits for answers, in ms: for acknowledgements of a change, for answers to a
   * member that claims the coordinator's role, and for answers to a request to join. A fifth to two
   * fifths of `failureTimeoutMs`. Default: two fifths.
   */
  readonly answerTimeoutMs?: number | undefined;
  /**
   * How often each member asks the coordinator for the newest list, in ms. `heartbeatEveryMs` to
   * 100 times that. Default: 5 times.
   */
  readonly pullEveryMs?: number | undefined;
  /**
   * How often a coordinator searches for lost members and for seeds that are not members, in ms.
   * `heartbeatEveryMs` to 1,000 times that. Default: 5 times.
   */
  readonly searchEveryMs?: number | undefined;
  /**
   * How long the coordinator searches for lost members after the last loss, in ms. 10 times
   * `searchEveryMs` to 2^40. Default: an hour, but at least 10 times `searchEveryMs`.
   */
  readonly forgetAfterMs?: number | undefined;
  /**
   * How many times a member asks to join, each time waiting for about `answerTimeoutMs`, before it
   * gives up with `JOIN_FAILED`. A former member does not give up. A whole number from 2 to 10,000.
   * Default: 30.
   */
  readonly joinAttempts?: number | undefined;
  /** The smallest cluster that may have a leader. A whole number from 1 to 250. Default: 1. */
  readonly minimumSize?: number | undefined;
  /**
   * Whether only a majority may have a leader. After a partition, the side with more than half of
   * the members leads; of two halves, the one with the oldest member. The members that count are
   * those of the last list that held a majority. Default: false.
   */
  readonly majority?: boolean | undefined;
  /**
   * The time that the work has to stop after a loss, in ms. 0 to a quarter of `failureTimeoutMs`.
   * Default: a tenth of it.
   */
  readonly drainMs?: number | undefined;
}

const known = [
  ...['cluster', 'heartbeatEveryMs', 'failureTimeoutMs', 'detector', 'phiThreshold', 'heartbeatsTo', 'answerTimeoutMs', 'pullEveryMs'],
  ...['searchEveryMs', 'forgetAfterMs', 'joinAttempts', 'minimumSize', 'majority', 'drainMs'],
];

/** A longer list does not fit into a frame if its names and addresses have their maximum length. */
export const MAX_MEMBERS = 250;
const MAX_SUCCESSORS = 10;
const HOUR_MS = 3_600_000;
/**
 * The worst case of two clocks: the leader's runs slow, and those of the other members run fast.
 */
const CLOCK_MARGIN = 0.02;

/** The checked options, and the values that follow from them. */
export interface Rules {
  readonly heartbeatEveryMs: number;
  readonly failureTimeoutMs: number;
  readonly phiThreshold: number | undefined;
  /** Undefined: heartbeats go to all members. */
  readonly successors: number | undefined;
  readonly answerTimeoutMs: number;
  readonly pullEveryMs: number;
  readonly searchEveryMs: number;
  readonly forgetAfterMs: number;
  readonly joinAttempts: number;
  readonly minimumSize: number;
  readonly majority: boolean;
  /**
   * How long a leadership is valid after the sending of the leader's last heartbeats, in ms. Apart
   * from the time that messages take, no other member suspects the leader earlier.
   */
  readonly validMs: number;
  readonly safeMs: number;
  readonly configuration: string;
}

export function resolveRules(options: EmergentOptions): Rules {
  checkKnown('emergent', options, known);
  const cluster = checkName('cluster', options.cluster);
  const every = checkNumber('heartbeatEveryMs', options.heartbeatEveryMs, 1_000, { min: 20, max: 60_000 });
  const timeout = checkNumber('failureTimeoutMs', options.failureTimeoutMs, 5 * every, {
    min: 3 * every,
    max: 100 * every,
    why: '3 to 100 times heartbeatEveryMs',
  });
  const answer = checkNumber('answerTimeoutMs', options.answerTimeoutMs, 0.4 * timeout, {
    min: 0.2 * timeout,
    max: 0.4 * timeout,
    why: 'one to two fifths of failureTimeoutMs',
  });
  const pull = checkNumber('pullEveryMs', options.pullEveryMs, 5 * every, { min: every, max: 100 * every });
  const search = checkNumber('searchEveryMs', options.searchEveryMs, 5 * every, { min: every, max: 1_000 * every });
  const safeMs = timeout * (1 - CLOCK_MARGIN);
  const drainMs = checkNumber('drainMs', options.drainMs, timeout / 10, {
    min: 0,
    max: timeout / 4,
    why: 'at most a quarter of failureTimeoutMs',
  });
  const detector = checkOneOf('detector', options.detector, 'timeout', ['timeout', 'phi']);
  const phi = checkNumber('phiThreshold', options.phiThreshold, 8, { min: 1, max: 16 });
  if (options.phiThreshold !== undefined && detector !== 'phi')
    throw invalidOption('phiThreshold', options.phiThreshold, "left out, unless detector is 'phi'");
  const minimumSize = checkCount('minimumSize', options.minimumSize, 1, { min: 1, max: MAX_MEMBERS });
  const majority = checkBoolean('majority', options.majority, false);
  const successors = checkSuccessors(options.heartbeatsTo);
  return {
    heartbeatEveryMs: every,
    failureTimeoutMs: timeout,
    phiThreshold: detector === 'phi' ? phi : undefined,
    successors,
    answerTimeoutMs: answer,
    pullEveryMs: pull,
    searchEveryMs: search,
    forgetAfterMs: checkNumber('forgetAfterMs', options.forgetAfterMs, Math.max(HOUR_MS, 10 * search), { min: 10 * search, max: 2 ** 40 }),
    joinAttempts: checkCount('joinAttempts', options.joinAttempts, 30, { min: 2, max: 10_000 }),
    minimumSize,
    majority,
    validMs: safeMs - drainMs,
    safeMs,
    configuration:
      `emergent 1, cluster ${cluster}, heartbeats to ${successors ?? 'all'} every ${every} ms, ${detector} ${timeout} ms, ` +
      `pull every ${pull} ms, at least ${minimumSize}${majority ? ', a majority' : ''}`,
  };
}

function checkSuccessors(value: unknown): number | undefined {
  if (value === undefined || value === 'all') return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_SUCCESSORS) return value;
  throw invalidOption('heartbeatsTo', value, `"all", or a whole number of successors from 1 to ${MAX_SUCCESSORS}`);
}

function checkCount(name: string, value: unknown, fallback: number, range: NumberRange): number {
  const count = checkNumber(name, value, fallback, range);
  if (Number.isInteger(count)) return count;
  throw invalidOption(name, value, `a whole number from ${range.min} to ${range.max}`);
}
