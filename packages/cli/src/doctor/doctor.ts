/** `incumbent doctor`: what would go wrong, before it does. */

import { randomBytes } from 'node:crypto';

import type { Store } from '@incumbent/core';
import { showUrl } from '@incumbent/core/adapter';

import { Exit, usageError } from '../exit.ts';
import { showDuration } from '../duration.ts';
import { toJson } from '../json.ts';
import type { Style } from '../printer.ts';
import { openUrl, storeUrl, type StoreOptions } from '../store.ts';
import type { Surroundings } from '../surroundings.ts';
import { failure, ok, type Finding } from './finding.ts';
import { permissions } from './permissions.ts';
import { promises } from './promises.ts';
import { records } from './records.ts';
import { reportOf } from './report.ts';
import { roundTrips } from './round-trips.ts';

export interface DoctorOptions extends StoreOptions {
  readonly ttl?: number;
  readonly json?: boolean;
}

const DEFAULT_TTL_MS = 15_000;

/** Ends with `Exit.NO` when something fails; what cannot be opened ends as with every verb. */
export async function doctor(options: DoctorOptions, surroundings: Surroundings): Promise<number> {
  const { out } = surroundings;
  const url = storeUrl(options, surroundings);
  const from = performance.now();
  const store = await openUrl(url, surroundings);
  const openedMs = performance.now() - from;
  const found: Finding[] = [];
  const tell = (findings: readonly Finding[]): void => {
    for (const finding of findings) show(finding, options, surroundings);
    found.push(...findings);
  };
  try {
    tell([ok('reached', `${showUrl(url)} in ${openedMs.toFixed(0)} ms`, { openedMs })]);
    await examine(store, options, tell);
  } finally {
    await store.close();
  }
  const [failures, warnings] = [found.filter(({ level }) => level === 'failure'), found.filter(({ level }) => level === 'warning')];
  if (options.json !== true) {
    out.line('');
    out.line(summary(failures.length, warnings.length));
  }
  return failures.length === 0 ? Exit.OK : Exit.NO;
}

async function examine(store: Store, { ttl }: DoctorOptions, tell: (findings: readonly Finding[]) => void): Promise<void> {
  const { minTtlMs, maxTtlMs } = store.capabilities;
  const ttlMs = ttl ?? Math.min(Math.max(DEFAULT_TTL_MS, minTtlMs), maxTtlMs);
  if (!(ttlMs >= minTtlMs && ttlMs <= maxTtlMs))
    throw usageError(
      `--ttl ${showDuration(ttlMs)} is not possible with this store (${store.name}): from ${showDuration(minTtlMs)} to ${showDuration(maxTtlMs)}`,
    );
  // Where elections stand: a user who may write there and nowhere else is told no wrong.
  const scratch = `elections/doctor-${randomBytes(6).toString('hex')}`;
  tell(await tried('the server', () => reportOf(store)));
  tell(promises(store, ttlMs));
  const allowed = await permissions({ store, ttlMs, scratch });
  tell(allowed);
  if (allowed.some(({ level }) => level === 'failure')) return;
  tell(await tried('round trips', () => roundTrips({ store, ttlMs, scratch })));
  tell(await tried('elections', () => records(store)));
}

async function tried(what: string, look: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await look();
  } catch (error) {
    return [failure(what, error)];
  }
}

const marks = { ok: ['green', 'ok'], warning: ['yellow', 'warn'], failure: ['red', 'FAIL'] } as const satisfies Record<
  Finding['level'],
  readonly [Style, string]
>;

function show(finding: Finding, { json }: DoctorOptions, { out }: Surroundings): void {
  if (json === true) return out.line(toJson(finding));
  const [style, mark] = marks[finding.level];
  out.line(`${out.style(style, mark.padEnd(4))}  ${finding.what.padEnd(28)}  ${finding.detail}`);
}

function summary(failures: number, warnings: number): string {
  if (failures > 0) return `${failures} failed: elections do not work here as they are`;
  return warnings > 0 ? `nothing failed; ${warnings} to know of` : 'nothing to complain of';
}
