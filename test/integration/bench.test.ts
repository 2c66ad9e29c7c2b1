import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { makeScratch, outcomeOf, requireStore, type Scratch } from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { number } from '../../bench/harness/spread.ts';
import { write } from '../../bench/report/write.ts';

const BENCH = fileURLToPath(new URL('../../bench/index.ts', import.meta.url));
const NODE = [process.execPath, '--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning'];
const STORES = ['etcd', 'redis', 'memory'];
/** A watchdog: half a minute on a quiet machine, and some minutes on one that others use. */
const TIMEOUT_MS = 600_000;

let scratch: Scratch;
beforeEach(async () => {
  scratch = await makeScratch('bench');
});
afterEach(async () => scratch.remove());

/**
 * Tests whether the benchmark works, not its figures, because other tests use the machine. Go,
 * kazoo and Curator take part if they were built before. Returns the page.
 */
async function quick(scenarios: readonly string[], stores: readonly string[]): Promise<string> {
  const chosen = [...scenarios.flatMap((name) => ['--only', name]), ...stores.flatMap((name) => ['--store', name])];
  const { status, output } = await outcomeOf([...NODE, BENCH, '--quick', '--sources', ...chosen, '--out', scratch.path], {
    timeoutMs: TIMEOUT_MS - 10_000,
  });
  expect(output).not.toMatch(/failed|ended without|told nothing/);
  expect(status).toBe(0);
  const page = await readFile(join(scratch.path, 'RESULTS.md'), 'utf8');
  // Contestants in other languages may be listed as not built. No contestant may be missing for
  // another reason.
  expect(page.split('\n').filter((line) => /^- .*: /.test(line) && !line.includes('not built yet'))).toEqual([]);
  return page;
}

it('a figure on the page has at least two significant digits, and no exponent', () => {
  expect([1_825, 97.23, 4.5, 0.5, 0.0038, -0.023, 0].map(number)).toEqual(['1,825', '97.2', '4.50', '0.50', '0.0038', '-0.023', '0.00']);
});

it('a run of all stores replaces the sections of single stores', async () => {
  const folder = pathToFileURL(`${scratch.path}/`);
  for (const title of ['Idle: etcd', 'Herd: etcd', 'Idle: redis', 'Idle']) {
    const targets = [{ what: 'memory', wanted: 'little', measured: '1 KB', met: true }];
    write(folder, { title, method: '', tables: [], charts: [], targets }, { quick: true, versions: [], missing: new Map() });
  }
  const page = await readFile(join(scratch.path, 'RESULTS.md'), 'utf8');
  expect(page.match(/^## .*$/gm)).toEqual(['## Targets', '## Herd: etcd', '## Idle']);
  expect(page.match(/^\| \[.*?\]/gm)).toEqual(['| [Herd: etcd]', '| [Idle]']);
});

it('pnpm bench --quick measures handovers, and writes a page with a chart', { timeout: TIMEOUT_MS }, async () => {
  const page = await quick(['handover'], STORES);
  expect(page.match(/^### .*$/gm)).toEqual(STORES.map((store) => `### ${store}`));
  expect(page.match(/^\| incumbent, handover \| \d/gm)).toHaveLength(STORES.length);
  for (const peer of ['npm etcd3 Election', 'etcdctl elect', 'redis-semaphore Mutex', 'redlock using()']) {
    expect(page.split('\n').some((line) => line.startsWith(`| ${peer} | `) && /\| \d/.test(line))).toBe(true);
  }
  expect(await readFile(join(scratch.path, 'charts', `handover-${STORES.join('-')}.svg`), 'utf8')).toContain('<svg');
});

it('starts, idle elections and observers are measured', { timeout: TIMEOUT_MS }, async () => {
  const page = await quick(['start', 'idle', 'observers'], ['sqlite']);
  expect(page.match(/^## .*$/gm)).toEqual(['Targets', 'Start: sqlite', 'Idle: sqlite', 'Observers: sqlite'].map((title) => `## ${title}`));
  expect(page.match(/^\|(?: sqlite \|)? incumbent(?:, resign)? \|/gm)).toHaveLength(5);
});

describe.runIf(await requireStore({ store: 'kubernetes', own: true }))('on Kubernetes', { timeout: TIMEOUT_MS }, () => {
  it('client-go hands over beside Incumbent', async () => {
    const page = await quick(['handover'], ['kubernetes']);
    expect(page.match(/^\| (?:incumbent, handover|client-go) \| [\d,.]+ \(/gm)).toHaveLength(2);
    expect(page).toContain('at most 0.1 × client-go');
  });

  it('the API server counts the requests of both', async () => {
    const page = await quick(['idle'], ['kubernetes']);
    expect(page.match(/^\| (?:incumbent|client-go) \| 10 \| \d/gm)).toHaveLength(2);
  });
});
