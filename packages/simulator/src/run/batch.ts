/** Many runs of one profile, and their combined results. */

import type { Violation } from '../check/checker.ts';
import { profileOf } from '../plan/profiles.ts';
import type { Profile } from '../plan/profile.ts';
import { run, type Run } from './run.ts';

/** The combined results of a batch, as plain data that processes can send to each other. */
export interface Summary {
  readonly profile: string;
  runs: number;
  /** How many runs were repeated to check that they are deterministic. */
  replayed: number;
  simulatedMs: number;
  events: number;
  /** How often each event happened. */
  readonly counts: Record<string, number>;
  readonly failed: { readonly seed: number; readonly violations: readonly Violation[] }[];
  /** For each promise that the profile must break: in how many runs it broke. */
  readonly broken: Record<string, number>;
  /** The longest times of all runs, in ttls. */
  readonly longestTtls: Record<string, number>;
}

/** One seed in this many is run twice. */
const REPLAY_ONE_IN = 100;
/** A smaller batch is not expected to have met every event. */
const ENOUGH_RUNS = 1_000;

/** The summary of a batch that has run no seed yet. */
export function emptySummary(profile: string): Summary {
  return { profile, runs: 0, replayed: 0, simulatedMs: 0, events: 0, counts: {}, failed: [], broken: {}, longestTtls: {} };
}

/**
 * Runs `count` seeds from `start` on, and returns the combined results.
 *
 * @throws {RangeError} If there is no such profile.
 */
export async function runBatch(profile: string, start: number, count: number): Promise<Summary> {
  const summary = emptySummary(profile);
  const drawn = profileOf(profile);
  for (let seed = start; seed < start + count; seed += 1) {
    const first = await run(drawn.plan(seed));
    addRun(summary, drawn, first);
    if (seed % REPLAY_ONE_IN === 0) await replay(summary, drawn, first);
  }
  return summary;
}

async function replay(summary: Summary, profile: Profile, { plan, hash }: Run): Promise<void> {
  summary.replayed += 1;
  const again = await run(profile.plan(plan.seed));
  if (again.hash === hash) return;
  const what = `the hash was ${hash}, and ${again.hash} the second time`;
  summary.failed.push({ seed: plan.seed, violations: [{ promise: 'the same seed is the same run', atMs: 0, what }] });
}

function addRun(summary: Summary, profile: Profile, { plan, violations, counts, figures }: Run): void {
  summary.runs += 1;
  summary.simulatedMs += figures.simulatedMs;
  summary.events += figures.events;
  for (const [name, count] of counts) addTo(summary.counts, name, count);
  const allowed = new Set([...profile.mustBreak, ...(profile.mayBreak ?? [])]);
  const failures = violations.filter(({ promise }) => !allowed.has(promise));
  if (failures.length > 0) summary.failed.push({ seed: plan.seed, violations: failures });
  for (const promise of new Set(violations.map((violation) => violation.promise)))
    if (allowed.has(promise)) addTo(summary.broken, promise, 1);
  const { recoveredAfterMs = 0, failedOverAfterMs = 0, longestCloseMs, longestOverlapMs } = figures;
  const lengths = { recovery: recoveredAfterMs, failover: failedOverAfterMs, close: longestCloseMs, overlap: longestOverlapMs };
  for (const [name, ms] of Object.entries(lengths)) raise(summary.longestTtls, name, ms / plan.shape.ttlMs);
}

/** Adds `from` to `into`. Both must be of the same profile. */
export function merge(into: Summary, from: Summary): void {
  into.runs += from.runs;
  into.replayed += from.replayed;
  into.simulatedMs += from.simulatedMs;
  into.events += from.events;
  into.failed.push(...from.failed);
  for (const [name, count] of Object.entries(from.counts)) addTo(into.counts, name, count);
  for (const [promise, count] of Object.entries(from.broken)) addTo(into.broken, promise, count);
  for (const [name, ttls] of Object.entries(from.longestTtls)) raise(into.longestTtls, name, ttls);
}

/**
 * Describes the events that a batch should have met and has not. Empty if enough happened, or if
 * the batch is too small to tell.
 */
export function missing(summary: Summary): readonly string[] {
  if (summary.runs < ENOUGH_RUNS) return [];
  const { mustOccur, mustBreak, overlaps = false } = profileOf(summary.profile);
  return [
    ...(overlaps && summary.longestTtls['overlap'] === 0 ? ['two never led at once, which the docs warn of'] : []),
    ...mustOccur.filter((name) => !(name in summary.counts)).map((name) => `never happened: ${name}`),
    ...mustBreak.filter((promise) => !(promise in summary.broken)).map((promise) => `never broken, which the docs warn of: ${promise}`),
  ];
}

function addTo(counts: Record<string, number>, name: string, count: number): void {
  counts[name] = (counts[name] ?? 0) + count;
}

function raise(longest: Record<string, number>, name: string, value: number): void {
  longest[name] = Math.max(longest[name] ?? 0, value);
}
