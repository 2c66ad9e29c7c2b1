/**
 * Who is taken to be gone. By default whoever was silent for a time; or, beyond that time,
 * whoever's silence is unlikely by the heartbeats before. (Hayashibara, Défago, Yared and Katayama:
 * "The φ accrual failure detector", SRDS 2004.)
 */

import { keyOf, type List } from './list.ts';
import type { Rules } from './options.ts';
import type { Present, Watched } from './state.ts';
import type { StepContext } from './step-context.ts';

/**
 * How many times between heartbeats are kept: a thousand in the paper, where they come ten times a
 * second and more.
 */
const WINDOW = 60;
const LEAST_INTERVALS = 3;

/** The watch over a new list: what is known of whoever stays is kept. */
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
    // It may not know yet that it is let in.
    return { heardAtMs: nowMs + rules.answerTimeoutMs, limitMs, intervalsMs: [], accusedAtMs: undefined, standing: entry.standing };
  });
}

/**
 * Where in the list are those to whom a member sends heartbeats (`way` 1), or from whom it gets
 * them (−1).
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
 * On a ring few watch each: whom nobody on this side of a split watches nobody here misses. So
 * where the coordinator is missed for long, and nobody has taken over, everybody sends heartbeats
 * to everybody, and watches everybody, until there is a new list.
 */
export function widen(step: StepContext): void {
  const { present, rules, nowMs, state } = step;
  if (present === undefined || rules.successors === undefined) return;
  const sinceMs = isSuspect(step, present, 0) ? (present.missingSinceMs ?? nowMs) : undefined;
  const isWide = present.targets.length === present.list.members.length - 1;
  // It is there again: so the others send no more than they did.
  if (sinceMs === undefined && present.missingSinceMs !== undefined)
    step.setPresent({ targets: neighbours(rules, present.list, state.memberId, 1), watch: watchOver(step, present.list) });
  step.setPresent({ missingSinceMs: sinceMs });
  if (sinceMs === undefined || isWide || nowMs - sinceMs < rules.failureTimeoutMs) return;
  const targets = present.list.members.flatMap(({ memberId }, i) => (memberId === state.memberId ? [] : [i]));
  const limitMs = rules.failureTimeoutMs + 2 * rules.pullEveryMs;
  const watch = present.watch.map((known) => (known.limitMs === Infinity ? { ...known, limitMs, heardAtMs: nowMs } : known));
  step.setPresent({ targets, watch });
}

/** A member was heard. `beat`: by a heartbeat. */
export function hear(
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
 * It is said to be gone: it is asked, and suspect if it does not answer. Whoever was heard just now
 * is there all the same.
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

/** It is gone. */
export function condemn(step: StepContext, index: number): void {
  const { present, nowMs, rules } = step;
  const known = present?.watch[index];
  if (present === undefined || known === undefined) return;
  step.setPresent({ watch: present.watch.with(index, { ...known, accusedAtMs: nowMs - rules.answerTimeoutMs }) });
}

/**
 * The time in which this process stood still does not count: what the others said meanwhile may lie
 * there unread.
 */
export function forgive(step: StepContext): void {
  const { present, nowMs, state, rules } = step;
  const stoodMs = nowMs - state.stepAtMs - rules.heartbeatEveryMs;
  if (present === undefined || stoodMs <= rules.heartbeatEveryMs) return;
  const watch = present.watch.map((known) => ({
    ...known,
    heardAtMs: Math.max(known.heardAtMs, Math.min(known.heardAtMs + stoodMs, nowMs)),
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

/** By this member's own watch. */
export function isMissed({ phiThreshold, heartbeatEveryMs }: Rules, { heardAtMs, limitMs, intervalsMs }: Watched, nowMs: number): boolean {
  const silentMs = nowMs - heardAtMs;
  if (silentMs < limitMs) return false;
  if (phiThreshold === undefined || intervalsMs.length < LEAST_INTERVALS) return true;
  return phi(silentMs - limitMs, intervalsMs, heartbeatEveryMs / 10) >= phiThreshold;
}

/**
 * −log₁₀ of the chance that a heartbeat takes longer than this, if times between heartbeats are
 * normally distributed; the normal distribution as a logistic one. (As Akka computes it.)
 */
function phi(silentMs: number, intervalsMs: readonly number[], leastDeviationMs: number): number {
  const mean = intervalsMs.reduce((sum, ms) => sum + ms, 0) / intervalsMs.length;
  const variance = intervalsMs.reduce((sum, ms) => sum + (ms - mean) ** 2, 0) / intervalsMs.length;
  const y = (silentMs - mean) / Math.max(Math.sqrt(variance), leastDeviationMs);
  const e = Math.exp(-y * (1.5976 + 0.070566 * y * y));
  return silentMs > mean ? -Math.log10(e / (1 + e)) : -Math.log10(1 - 1 / (1 + e));
}
