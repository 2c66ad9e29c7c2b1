/** `incumbent doctor`: finds what would go wrong with elections on a store. */

import type { Store } from '@incumbent/core';
import { showUrl } from '@incumbent/core/adapter';

import { showDuration } from '../common/duration.ts';
import { addStoreOptions, DURATIONS_HELP, examples, exitCodes, ttlOption, type CommandParent } from '../common/options.ts';
import { printJson } from '../common/output.ts';
import type { Style } from '../common/printer.ts';
import { openExisting, storeUrl, type StoreOptions } from '../common/store.ts';
import type { CliContext } from '../context.ts';
import { ttlRangeOf } from '../doctor/capabilities.ts';
import { ok, type Finding } from '../doctor/finding.ts';
import { finishBeforeSignal } from '../doctor/interruption.ts';
import { checkRecords } from '../doctor/records.ts';
import { defaultTtlMs, findingsOf, runChecks } from '../doctor/run-checks.ts';
import { Exit, usageError } from '../exit.ts';

interface DoctorOptions extends StoreOptions {
  readonly ttl?: number;
  readonly json?: boolean;
}

export function addDoctor({ root, context, end }: CommandParent): void {
  const command = root
    .command('doctor')
    .summary('check a store before elections use it')
    .description('Check a store: connection, version, capabilities, permissions, round trips, and the records of its elections.')
    .addOption(ttlOption('ttl that your elections will have; round trips are compared with it'))
    .option('--json', 'print one line of JSON per finding')
    .addHelpText('after', DOCTOR_HELP)
    .addHelpText('after', DURATIONS_HELP)
    .addHelpText('after', exitCodes('no failure; there may be warnings', 'at least one failure: elections do not work here as they are'))
    .addHelpText('after', examples('incumbent doctor', 'incumbent doctor --ttl 5s --json'))
    .action((options: DoctorOptions) => end(doctor(options, context)));
  addStoreOptions(command);
}

const DOCTOR_HELP = `
A finding is ok, warn (elections work, with the stated limit) or FAIL (elections do not work).
Doctor writes only below one key of its own, elections/doctor-…, and removes it. It does not disturb
elections that are running.`;

async function doctor(options: DoctorOptions, context: CliContext): Promise<number> {
  const { out } = context;
  const url = storeUrl(options, context);
  const from = performance.now();
  // It may be called because the store has lost its schema or file: a new one begins with term 1.
  const store = await openExisting(url, context);
  const openedMs = performance.now() - from;
  const found: Finding[] = [];
  const report = (findings: readonly Finding[]): void => {
    for (const finding of findings) show(finding, options, context);
    found.push(...findings);
  };
  try {
    report([ok('reached', `${showUrl(url)} in ${openedMs.toFixed(0)} ms`, { openedMs })]);
    await check(store, options, report);
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

async function check(store: Store, { ttl }: DoctorOptions, report: (findings: readonly Finding[]) => void): Promise<void> {
  const { minTtlMs, maxTtlMs } = ttlRangeOf(store);
  const ttlMs = ttl ?? defaultTtlMs(store);
  if (!(ttlMs >= minTtlMs && ttlMs <= maxTtlMs))
    throw usageError(
      `--ttl ${showDuration(ttlMs)} is not possible with this store (${store.name}): from ${showDuration(minTtlMs)} to ${showDuration(maxTtlMs)}`,
    );
  const isUsable = await finishBeforeSignal((stopping) => runChecks(store, { ttlMs, writes: true, report, stopping }));
  if (isUsable) report(await findingsOf('elections', () => checkRecords(store)));
}

const LABELS = { ok: ['green', 'ok'], warning: ['yellow', 'warn'], failure: ['red', 'FAIL'] } as const satisfies Record<
  Finding['level'],
  readonly [Style, string]
>;

function show(finding: Finding, { json }: DoctorOptions, { out }: CliContext): void {
  if (json === true) return printJson(out, { type: 'finding', ...finding });
  const [style, label] = LABELS[finding.level];
  out.line(`${out.style(style, label.padEnd(4))}  ${finding.what.padEnd(28)}  ${finding.detail}`);
}

function summary(failures: number, warnings: number): string {
  if (failures > 0) return `failures: ${failures}; elections do not work here as they are`;
  return warnings > 0 ? `no failures; warnings: ${warnings}` : 'no failures, no warnings';
}
