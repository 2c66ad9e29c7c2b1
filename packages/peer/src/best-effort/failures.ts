/**
 * How often leaders have failed lately: one that fails again and again is not elected for its rank
 * alone. (The remedy that Petrov, "Database Internals", 2019, chapter 10, names for a bully that is
 * not well; the shape of it, a count that fades by halves, is ours.)
 */

import { MAX_FAILURES, type Failure } from './message.ts';
import type { Fading } from './state.ts';

/** Less of a count than this is forgotten. */
const NOTHING = 0.1;

/**
 * How many steps a member stands behind those that have not failed: as many as its failures lately,
 * the first one left out.
 */
export function levelOf(forgiveMs: number | undefined, failures: readonly Fading[], id: string, nowMs: number): number {
  const failure = failures.find((one) => one.id === id);
  return failure === undefined || forgiveMs === undefined ? 0 : Math.max(Math.ceil(countOf(forgiveMs, failure, nowMs)) - 1, 0);
}

/** With one failure more: that of a leader of this round. What is known already is counted once. */
export function withFailure(forgiveMs: number, failures: readonly Fading[], id: string, round: number, nowMs: number): readonly Fading[] {
  const before = failures.find((one) => one.id === id);
  if (before !== undefined && before.round >= round) return failures;
  const count = before === undefined ? 0 : countOf(forgiveMs, before, nowMs);
  return [...failures.filter((one) => one.id !== id), { id, round, count: Math.min(count + 1, 1_000), atMs: nowMs }];
}

/** The part of a step that learns of failures. */
export interface Learner {
  readonly how: { readonly forgiveMs: number | undefined };
  readonly nowMs: number;
  readonly state: { readonly failures: readonly Fading[] };
  set(changes: { readonly failures: readonly Fading[] }): void;
}

/**
 * What another member tells of: of each member the newer failure counts, and of the same one the
 * higher count.
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

/** What is worth telling of: the highest counts. */
export function toTell(forgiveMs: number | undefined, failures: readonly Fading[], nowMs: number): readonly Failure[] {
  if (forgiveMs === undefined) return [];
  return (
    failures
      // Rounded down, so that it fades even if members pass it to and fro.
      .map(({ id, round, ...rest }) => ({ id, round, count: Math.floor(1_000 * countOf(forgiveMs, rest, nowMs)) / 1_000 }))
      .filter(({ count }) => count >= NOTHING)
      .toSorted((a, b) => b.count - a.count)
      .slice(0, MAX_FAILURES)
  );
}

function countOf(forgiveMs: number, { count, atMs }: Pick<Fading, 'count' | 'atMs'>, nowMs: number): number {
  return count * 2 ** ((atMs - nowMs) / forgiveMs);
}
