/** What the members of an open membership must agree on, and what follows from it. */

import { checkKnown, checkName, checkNumber, checkOneOf, invalidOption, type NumberRange } from '@incumbent/core/adapter';

export interface EmergentOptions {
  /** The cluster's name: members of another one are refused, and two clusters never merge. */
  readonly cluster: string;
  /** Time between heartbeats, in ms. From 20 to 60,000. Default 1,000. */
  readonly heartbeatEveryMs?: number;
  /**
   * How long a member may be silent before it is suspected, in ms: with `phi` the pause that is
   * never suspected. From 3 to 100 times `heartbeatEveryMs`. Default 5 times.
   */
  readonly failureTimeoutMs?: number;
  /**
   * `timeout`: silence for `failureTimeoutMs`. `phi`: silence that is unlikely beyond it, by the
   * heartbeats that came before (Hayashibara and others, SRDS 2004). Default `timeout`.
   */
  readonly detector?: 'timeout' | 'phi';
  /** With `phi`: how unlikely, as a negative power of ten. From 1 to 16. Default 8. */
  readonly phiThreshold?: number;
  /**
   * To whom heartbeats go: `all`, or to so many successors on the ring of all ids, 1 to 10; then
   * whoever is missed is reported to the coordinator. n² or n × k messages a round. Default `all`.
   */
  readonly heartbeatsTo?: 'all' | number;
  /**
   * How long an answer is waited for: of those who were told of a change, asked by a successor, or
   * asked to be let in, in ms. From one to two fifths of `failureTimeoutMs`. Default two fifths.
   */
  readonly answerTimeoutMs?: number;
  /**
   * How often each member asks the coordinator for the newest list, heartbeats or not, in ms. From
   * `heartbeatEveryMs` to 100 times that. Default 5 times.
   */
  readonly pullEveryMs?: number;
  /**
   * How often a coordinator looks for members that it has lost, and for seeds that are not with it,
   * in ms. From `heartbeatEveryMs` to 1,000 times that. Default 5 times.
   */
  readonly searchEveryMs?: number;
  /**
   * For how long a member that was lost is looked for, in ms. From 10 times `searchEveryMs` up.
   * Default an hour.
   */
  readonly forgetAfterMs?: number;
  /**
   * How often a member asks to be let in, an `answerTimeoutMs` apart, before it gives up with
   * `JOIN_FAILED`. From 2 to 10,000. Default 30.
   */
  readonly joinAttempts?: number;
  /** With fewer members nobody leads. From 1 to 250. Default 1. */
  readonly minimumSize?: number;
  /**
   * True: of the sides of a split only the one with more than half of the members leads; of two
   * halves the one with the oldest. Whom they count are the members of the last list that had a
   * majority. Default false.
   */
  readonly majority?: boolean;
  /**
   * What the work gets to stop when leadership is lost, in ms. From 0 to a quarter of
   * `failureTimeoutMs`. Default a tenth of it.
   */
  readonly drainMs?: number;
}

const known = [
  ...['cluster', 'heartbeatEveryMs', 'failureTimeoutMs', 'detector', 'phiThreshold', 'heartbeatsTo', 'answerTimeoutMs', 'pullEveryMs'],
  ...['searchEveryMs', 'forgetAfterMs', 'joinAttempts', 'minimumSize', 'majority', 'drainMs'],
];

/** A list of more has no room in a frame, whatever their names. */
export const MAX_MEMBERS = 250;
const MAX_SUCCESSORS = 10;
const HOUR_MS = 3_600_000;
/** Of two clocks at their worst: the others' run fast, and the leader's slow. */
const CLOCK_MARGIN = 0.02;

/** The options with their defaults, and what follows from them. */
export interface Rules {
  readonly heartbeatEveryMs: number;
  readonly failureTimeoutMs: number;
  readonly phiThreshold: number | undefined;
  /** Undefined: all. */
  readonly successors: number | undefined;
  readonly answerTimeoutMs: number;
  readonly pullEveryMs: number;
  readonly searchEveryMs: number;
  readonly forgetAfterMs: number;
  readonly joinAttempts: number;
  readonly minimumSize: number;
  readonly majority: boolean;
  /**
   * How long a leader believes, from the sending of its last heartbeats: nobody suspects it before,
   * but that messages take their time.
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
  const minimumSize = checkCount('minimumSize', options.minimumSize, 1, { min: 1, max: MAX_MEMBERS });
  const majority = checkFlag('majority', options.majority);
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

function checkFlag(name: string, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false;
  throw invalidOption(name, value, 'true or false');
}
