/**
 * Counts how often each leader has failed lately, so that a member that fails repeatedly is not
 * elected for its rank alone. (Petrov, "Database Internals", 2019, chapter 10, names this remedy
 * for an unstable highest-ranked member of the bully algorithm. The count with a half-life is our
 * own design.)
 */

import { MAX_FAILURES, type Failure } from './message.ts';
import type { Fading } from './state.ts';

/** Counts below this value are dropped. */
const NOTHING = 0.1;

/**
 * How many levels the member ranks below members without failures: its recent failures, rounded up,
 * minus one. The first failure costs nothing.
 */
export function levelOf(forgiveMs: number | undefined, failures: readonly Fading[], id: string, nowMs: number): number {
  const failure = failures.find((one) => one.id === id);
  return failure === undefined || forgiveMs === undefined ? 0 : Math.max(Math.ceil(countOf(forgiveMs, failure, nowMs)) - 1, 0);
}

/** Adds a failure of the leader of this round. A failure that is known already counts once. */
export function withFailure(forgiveMs: number, failures: readonly Fading[], id: string, round: number, nowMs: number): readonly Fading[] {
  const before = failures.find((one) => one.id === id);
  if (before !== undefined && before.round >= round) return failures;
  const count = before === undefined ? 0 : countOf(forgiveMs, before, nowMs);
  return [...failures.filter((one) => one.id !== id), { id, round, count: Math.min(count + 1, 1_000), atMs: nowMs }];
}

/** The part of `StepContext` that `learn` needs. */
export interface Learner {
  readonly how: { readonly forgiveMs: number | undefined };
  readonly nowMs: number;
  readonly state: { readonly failures: readonly Fading[] };
  set(changes: { readonly failures: readonly Fading[] }): void;
}

/**
 * Merges the failures that another member reports. For each leader, the later failure wins. For the
 * same failure, the higher count wins.
 */
export function learn(step: Learner, others: readonly Failure[]): void {
  const { how, nowMs, state } = step;
  const { forgiveMs } = how;
  if (forgiveMs === undefined || others.length === 0) return;
  const all = new Map(state.failures.map((one) => [one.id, one]));
  for (const { id, round, count } of others) {
    const mine = all.get(id);
    const known = mine === undefined ? 0 : countOf(forgiveMs, mine, nowMs);
    const isNews = mine === undefined || round > mine.round || (round === mine.round && count > known);
    if (isNews) all.set(id, { id, round, count: Math.max(count, known), atMs: nowMs });
  }
  step.set({ failures: [...all.values()] });
}

/** The failures to report to other members: the highest counts. */
export function failuresToReport(forgiveMs: number | undefined, failures: readonly Fading[], nowMs: number): readonly Failure[] {
  if (forgiveMs === undefined) return [];
  return (
    failures
      // Round down: otherwise a count that members report back and forth would never reach zero.
      .map(({ id, round, ...rest }) => ({ id, round, count: Math.floor(1_000 * countOf(forgiveMs, rest, nowMs)) / 1_000 }))
      .filter(({ count }) => count >= NOTHING)
      .toSorted((a, b) => b.count - a.count)
      .slice(0, MAX_FAILURES)
  );
}

function countOf(forgiveMs: number, { count, atMs }: Pick<Fading, 'count' | 'atMs'>, nowMs: number): number {
  return count * 2 ** ((atMs - nowMs) / forgiveMs);
}
