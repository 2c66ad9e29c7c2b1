/**
 * Runs the tests as a newcomer does: measures how long they take, and that a busy machine does not
 * fail them.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { BusyLoops } from '../busy.ts';
import type { Check, Figures, OpenCheck } from './check.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Programs of servers that were unpacked before, so that a run downloads none. */
const CACHE = join(ROOT, 'node_modules/.cache/incumbent');
const LOOPS = 4;
/** The line of counts at the end of a run. */
const COUNTS = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/;

export const testsQuiet: Check = {
  name: 'tests-quiet',
  claim: '`pnpm test` takes at most 8 minutes on two cores that do nothing else.',
  method:
    '`pnpm test` runs once per run in a fresh clone of the last commit. seconds: from its start to its end, installation and downloads excluded.',
  runs: 1,
  parallel: 1,
  open: async () => timed('test', 8 * 60),
};

export const testsAll: Check = {
  name: 'tests-all',
  claim: '`pnpm test:all` takes less than 40 minutes on two cores that do nothing else.',
  method: '`pnpm test:all` runs likewise. passed and skipped: of both of its parts.',
  runs: 1,
  parallel: 1,
  open: async () => timed('test:all', 40 * 60),
};

export const testsBusy: Check = {
  name: 'tests-busy',
  claim: `\`pnpm test\` has no failure next to ${LOOPS} busy loops.`,
  method: `\`pnpm test\` runs in a fresh clone while ${LOOPS} processes loop without a pause. seconds: how long that takes.`,
  runs: 5,
  parallel: 1,
  open: async () => {
    const loops = new BusyLoops(LOOPS);
    return {
      run: async () => ({ figures: await runInClone('test') }),
      [Symbol.asyncDispose]: async () => {
        loops[Symbol.dispose]();
      },
    };
  },
};

function timed(script: string, mostSeconds: number): OpenCheck {
  return {
    run: async () => {
      const figures = await runInClone(script);
      assert.ok((figures['seconds'] ?? Infinity) <= mostSeconds, `${figures['seconds']} s; ${mostSeconds} s are allowed`);
      return { figures };
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

/**
 * Runs a script of the manifest in a new clone. Throws if a test fails, with the output before this
 * process's own.
 */
async function runInClone(script: string): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'incumbent-clone-'));
  try {
    await run('git', ['clone', '--quiet', ROOT, folder], tmpdir());
    await run('pnpm', ['install', '--frozen-lockfile', '--prefer-offline'], folder);
    const startedMs = performance.now();
    const counts = (await run('pnpm', [script], folder)).flatMap((line) => [COUNTS.exec(line) ?? []]).filter(({ length }) => length > 0);
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    const [passed, failed, skipped] = sumOf(counts);
    assert.deepEqual({ failed, isCounted: counts.length > 0 }, { failed: 0, isCounted: true });
    return { seconds, passed, skipped };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * The sum of the first part of the tests and of the last. Between them are the counts of single
 * runs of the second part.
 */
function sumOf(counts: readonly (readonly (string | undefined)[])[]): readonly [passed: number, failed: number, skipped: number] {
  const ends = counts.length > 1 ? [counts.at(0), counts.at(-1)] : counts;
  const sum = (at: number): number => ends.reduce((total, line) => total + Number(line?.[at] ?? 0), 0);
  return [sum(1), sum(2), sum(3)];
}

/** Resolves with the lines that it printed. Throws if it fails. */
async function run(command: string, args: readonly string[], cwd: string): Promise<readonly string[]> {
  const env = { INCUMBENT_CACHE: CACHE, ...process.env };
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    console.log(line);
    lines.push(line);
  }
  const [code] = await closed;
  assert.equal(code, 0, `${command} ${args.join(' ')}`);
  return lines;
}
