/**
 * The failure detector. By default, a member is suspect after a silence of the failure timeout.
 * With `phi`, it becomes suspect after that time, when its silence has become improbable, given the
 * intervals between its earlier heartbeats. (Hayashibara, Défago, Yared and Katayama: "The φ
 * accrual failure detector", SRDS 2004.)
 */

import { keyOf, type List } from './list.ts';
import type { Rules } from './options.ts';
import type { Present, Watched } from './state.ts';
import type { StepContext } from './step-context.ts';

/**
 * How many intervals between heartbeats a member remembers. The paper uses 1,000, for heartbeats
 * that come 10 times per second or more often.
 */
const WINDOW = 60;
const LEAST_INTERVALS = 3;

/**
 * Watches the members of a new list. Keeps what is known of the members that were in the former
 * list.
 */
export function watchOver({ rules, state, nowMs, present }: StepContext, list: List): readonly Watched[] {
  const before = new Map(present?.list.members.map((entry, i) => [keyOf(entry), present.watch[i]]));
  const sources = neighbours(rules, list, state.memberId, -1);
  const isCoordinator = list.members[0]?.memberId === state.memberId;
  return list.members.map((entry, i) => {
    const known = before.get(keyOf(entry));
    const limitMs = sources.includes(i)
      ? rules.failureTimeoutMs
      : isCoordinator || i === 0
        ? rules.failureTimeoutMs + 2 * rules.pullEveryMs
        : Infinity;
    if (known !== undefined) return { ...known, limitMs, heardAtMs: known.limitMs === Infinity ? nowMs : known.heardAtMs };
    // Allow more time: the new member may not know yet that it has joined.
    return { heardAtMs: nowMs + rules.answerTimeoutMs, limitMs, intervalsMs: [], accusedAtMs: undefined, standing: entry.standing };
  });
}

/**
 * The indexes in the list of the members to which a member sends heartbeats (`way` 1), or from
 * which it receives them (−1).
 */
export function neighbours({ successors }: Rules, { members }: List, memberId: string, way: 1 | -1): readonly number[] {
  const others = members.flatMap((entry, i) => (entry.memberId === memberId ? [] : [i]));
  if (successors === undefined || others.length <= successors) return others;
  const idOf = (i: number): string => members[i]?.memberId ?? '';
  const ring = others.toSorted((a, b) => (idOf(a) < idOf(b) ? -way : way));
  const after = ring.filter((i) => (way === 1 ? idOf(i) > memberId : idOf(i) < memberId));
  return [...after, ...ring.filter((i) => !after.includes(i))].slice(0, successors);
}

/**
 * On a ring, only a few members watch each member. After a partition, a failed member may have no
 * watcher left on this side. So if the coordinator stays suspect and no other member takes over,
 * all members send heartbeats to all and watch all, until a new list arrives.
 */
export function widen(step: StepContext): void {
  const { present, rules, nowMs, state } = step;
  if (present === undefined || rules.successors === undefined) return;
  const sinceMs = isSuspect(step, present, 0) ? (present.missingSinceMs ?? nowMs) : undefined;
  const isWide = present.targets.length === present.list.members.length - 1;
  // The coordinator is alive again: go back to the normal targets.
  if (sinceMs === undefined && present.missingSinceMs !== undefined)
    step.setPresent({ targets: neighbours(rules, present.list, state.memberId, 1), watch: watchOver(step, present.list) });
  step.setPresent({ missingSinceMs: sinceMs });
  if (sinceMs === undefined || isWide || nowMs - sinceMs < rules.failureTimeoutMs) return;
  const targets = present.list.members.flatMap(({ memberId }, i) => (memberId === state.memberId ? [] : [i]));
  const limitMs = rules.failureTimeoutMs + 2 * rules.pullEveryMs;
  const watch = present.watch.map((known) => (known.limitMs === Infinity ? { ...known, limitMs, heardAtMs: nowMs } : known));
  step.setPresent({ targets, watch });
}

/** A message of this member has arrived. `beat`: it was a heartbeat. */
export function recordSign(
  step: StepContext,
  index: number,
  { beat = false, standing }: { readonly beat?: boolean; readonly standing?: boolean } = {},
): void {
  const { present, nowMs, rules } = step;
  const known = present?.watch[index];
  if (present === undefined || known === undefined) return;
  const intervalMs = nowMs - known.heardAtMs;
  const counts = beat && rules.phiThreshold !== undefined && intervalMs > 0 && intervalMs < rules.failureTimeoutMs;
  const intervalsMs = counts ? [...known.intervalsMs.slice(1 - WINDOW), intervalMs] : known.intervalsMs;
  const heard = {
    ...known,
    heardAtMs: Math.max(nowMs, known.heardAtMs),
    intervalsMs,
    accusedAtMs: undefined,
    standing: standing ?? known.standing,
  };
  step.setPresent({ watch: present.watch.with(index, heard) });
}

/**
 * Another member reports that this one has failed. Asks it for a sign of life; if it does not
 * answer in time, it is suspect. Ignores the report if a message of it has just arrived.
 */
export function accuse(step: StepContext, index: number): void {
  const { present, nowMs, rules, state } = step;
  const [known, entry] = [present?.watch[index], present?.list.members[index]];
  if (present === undefined || known === undefined || entry === undefined || known.accusedAtMs !== undefined) return;
  if (nowMs - known.heardAtMs < rules.heartbeatEveryMs / 2) return;
  step.setPresent({ watch: present.watch.with(index, { ...known, accusedAtMs: nowMs }) });
  const { version, maker } = present.list;
  step.send(entry, { type: 'pull', incarnation: state.incarnation, version, maker, standing: state.standing });
}

/** Makes a member suspect at once. */
export function condemn(step: StepContext, index: number): void {
  const { present, nowMs, rules } = step;
  const known = present?.watch[index];
  if (present === undefined || known === undefined) return;
  step.setPresent({ watch: present.watch.with(index, { ...known, accusedAtMs: nowMs - rules.answerTimeoutMs }) });
}

/**
 * Ignores the time during which this process was paused: messages of other members may still wait
 * to be read.
 */
export function ignorePause(step: StepContext): void {
  const { present, nowMs, state, rules } = step;
  const pausedMs = nowMs - state.stepAtMs - rules.heartbeatEveryMs;
  if (present === undefined || pausedMs <= rules.heartbeatEveryMs) return;
  const watch = present.watch.map((known) => ({
    ...known,
    heardAtMs: Math.max(known.heardAtMs, Math.min(known.heardAtMs + pausedMs, nowMs)),
    accusedAtMs: undefined,
  }));
  step.setPresent({ watch });
}

export function isSuspect({ rules, nowMs, state }: StepContext, { list, watch }: Present, index: number): boolean {
  const known = watch[index];
  if (known === undefined || list.members[index]?.memberId === state.memberId) return false;
  const isCondemned = known.accusedAtMs !== undefined && nowMs - known.accusedAtMs >= rules.answerTimeoutMs;
  return isCondemned || isMissed(rules, known, nowMs);
}

/** Whether this member's own observations make the other one suspect. */
export function isMissed({ phiThreshold, heartbeatEveryMs }: Rules, { heardAtMs, limitMs, intervalsMs }: Watched, nowMs: number): boolean {
  const silentMs = nowMs - heardAtMs;
  if (silentMs < limitMs) return false;
  if (phiThreshold === undefined || intervalsMs.length < LEAST_INTERVALS) return true;
  return phi(silentMs - limitMs, intervalsMs, heartbeatEveryMs / 10) >= phiThreshold;
}

/**
 * −log₁₀ of the probability that a heartbeat takes longer than this, if the intervals are normally
 * distributed. Uses a logistic approximation of the normal distribution, as Akka does.
 */
function phi(silentMs: number, intervalsMs: readonly number[], leastDeviationMs: number): number {
  const mean = intervalsMs.reduce((sum, ms) => sum + ms, 0) / intervalsMs.length;
  const variance = intervalsMs.reduce((sum, ms) => sum + (ms - mean) ** 2, 0) / intervalsMs.length;
  const y = (silentMs - mean) / Math.max(Math.sqrt(variance), leastDeviationMs);
  const e = Math.exp(-y * (1.5976 + 0.070566 * y * y));
  return silentMs > mean ? -Math.log10(e / (1 + e)) : -Math.log10(1 - 1 / (1 + e));
}
