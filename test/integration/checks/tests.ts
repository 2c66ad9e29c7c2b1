/** The first part of the tests, as `pnpm test` runs them: how long it takes, and that a busy machine does not fail it. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { readReport, REPORT } from '@incumbent/test-support/run-report';
import { BusyLoops } from '../busy.ts';
import type { Check, Figures } from './check.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const MOST_SECONDS = 8 * 60;
const LOOPS = 4;

export const testsQuiet: Check = {
  name: 'tests-quiet',
  claim: '`pnpm test` takes at most 8 minutes on two cores that do nothing else.',
  method: 'The command of `pnpm test` runs once per run. seconds: from its start to its end, installation and downloads excluded.',
  runs: 1,
  parallel: 1,
  open: async () => ({
    run: async () => {
      const figures = await runTests();
      assert.ok((figures['seconds'] ?? Infinity) <= MOST_SECONDS, `${figures['seconds']} s; ${MOST_SECONDS} s are allowed`);
      return { figures };
    },
    [Symbol.asyncDispose]: async () => {},
  }),
};

export const testsBusy: Check = {
  name: 'tests-busy',
  claim: `\`pnpm test\` has no failure next to ${LOOPS} busy loops.`,
  method: `The command of \`pnpm test\` runs while ${LOOPS} processes loop without a pause. seconds: how long that takes.`,
  runs: 5,
  parallel: 1,
  open: async () => {
    const loops = new BusyLoops(LOOPS);
    return {
      run: async () => ({ figures: await runTests() }),
      [Symbol.asyncDispose]: async () => {
        loops[Symbol.dispose]();
      },
    };
  },
};

/** Throws where a test fails. */
async function runTests(): Promise<Figures> {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: { test: string } };
  const folder = mkdtempSync(join(tmpdir(), 'incumbent-tests-'));
  try {
    const path = join(folder, 'report.json');
    const startedMs = performance.now();
    const code = await exitCode(scripts.test, { ...process.env, [REPORT]: path });
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    const report = readReport(path);
    assert.ok(report !== undefined, 'the tests ended without a report');
    const failures = report.files.flatMap(({ file, tests }) => tests.map(({ name, error }) => `${file} > ${name}\n${error}`));
    assert.deepEqual([code, ...failures, ...report.stray], [0]);
    return { seconds, passed: report.passed, skipped: report.skipped };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function exitCode(command: string, env: NodeJS.ProcessEnv): Promise<number | null> {
  const ended = Promise.withResolvers<number | null>();
  const child = spawn(command, { shell: true, cwd: ROOT, env, stdio: ['ignore', 'inherit', 'inherit'] });
  child.once('error', ended.reject);
  child.once('close', ended.resolve);
  return ended.promise;
}
