/** The page of `incumbent ui` with thousands of elections, in Chromium. */

import assert from 'node:assert/strict';
import { openEtcd } from '@incumbent/etcd';
import { freePort, requireBrowser, spawnScript, startBrowser, startEtcd, until } from '@incumbent/test-support';
import type { Store } from 'incumbent';
import { type Check, onServer } from './check.ts';
import { freshNamespace, storeUrl } from './pair.ts';

const ELECTIONS = 5_000;
const UPDATES = 30;
const WAIT_MS = 120_000;
const MAIN = new URL('../../../packages/cli/src/main.ts', import.meta.url);

/**
 * Runs in the page before its own scripts: notes when the first row with a leader is drawn, when
 * all documents have arrived, and when the row of `election-1` shows another term.
 */
const OBSERVER = `
  window.seen = { rowsMs: undefined, readyMs: undefined, terms: {} };
  const look = () => {
    const { seen } = window;
    if (document.querySelector('#rows .row[data-state="leader"]') !== null) seen.rowsMs ??= performance.now();
    if (document.documentElement.dataset.ready !== undefined) seen.readyMs ??= performance.now();
    const term = document.querySelector('#rows .row[data-key="election-1"] .c-term')?.textContent;
    if (term !== undefined) seen.terms[term] ??= performance.timeOrigin + performance.now();
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);`;

interface Seen {
  readonly paintMs: number;
  readonly rowsMs: number;
  readonly readyMs: number;
  readonly terms: Readonly<Record<string, number>>;
}

export const uiManyElections: Check = {
  name: 'ui-many-elections',
  claim: `The page of \`incumbent ui\` with ${ELECTIONS.toLocaleString('en')} elections is painted, and shows a change, without a wait that one notices.`,
  method:
    `${ELECTIONS.toLocaleString('en')} elections on one etcd, all watched by one \`incumbent ui\`; Chromium opens the page on the same machine. paint: the first contentful paint; rows: the first rows with leaders; ` +
    `all: all elections have arrived; each from the start of the navigation. update: from before the swap of a leader's record by another process to the frame that shows it, ${UPDATES} times.`,
  runs: 5,
  parallel: 1,
  canRun: requireBrowser,
  open: onServer(
    () => startEtcd(),
    async (server) => {
      const target = storeUrl([server.url], freshNamespace());
      const store = await openEtcd(target);
      const port = await freePort();
      try {
        await seed(store);
        const env = { INCUMBENT_STORE: target };
        await using process = await spawnScript(MAIN, { args: ['ui', '--listen', `127.0.0.1:${port}`], env });
        await until(() => process.output.some((line) => line.includes('shows etcd at')), { what: 'a page', withinMs: WAIT_MS });
        return { figures: await measure(store, `http://127.0.0.1:${port}`) };
      } finally {
        await store.close();
      }
    },
  ),
};

async function measure(store: Store, url: string): Promise<Readonly<Record<string, number>>> {
  const browser = await startBrowser();
  try {
    const first = await browser.newPage();
    await first.goto(url);
    // Until the process watches all of them.
    const led = `document.querySelector('[data-filter="leader"] span').textContent`;
    await until(async () => (await first.evaluate<string>(led)) === ELECTIONS.toLocaleString('en'), {
      what: 'all leaders',
      withinMs: WAIT_MS,
    });
    await first.close();
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.addInitScript(OBSERVER);
    await page.goto(url);
    const has = (part: string): Promise<true> =>
      until(async () => page.evaluate<boolean>(`window.seen.${part} !== undefined`), { what: part, withinMs: WAIT_MS });
    await has('readyMs');
    await has('rowsMs');
    const sentAt: number[] = [];
    for (let term = 2; term < UPDATES + 2; term += 1) {
      sentAt.push(await lead(store, 'election-1', term));
      await has(`terms[${term}]`);
    }
    const seen = await page.evaluate<Seen>(
      `({ ...window.seen, paintMs: performance.getEntriesByName('first-contentful-paint')[0].startTime })`,
    );
    const updates = sentAt.map((at, index) => (seen.terms[String(index + 2)] ?? Infinity) - at).toSorted((a, b) => a - b);
    assert.ok(updates.every(Number.isFinite), 'the page has not shown every change');
    const round = (ms: number | undefined): number => Math.round((ms ?? Infinity) * 10) / 10;
    return {
      ...{ paintMs: round(seen.paintMs), rowsMs: round(seen.rowsMs), allMs: round(seen.readyMs) },
      ...{ updateMs: round(updates[Math.floor(UPDATES / 2)]), slowestUpdateMs: round(updates.at(-1)) },
    };
  } finally {
    await browser.close();
  }
}

async function seed(store: Store): Promise<void> {
  const names = Array.from({ length: ELECTIONS }, (_, index) => `election-${index}`);
  for (let from = 0; from < ELECTIONS; from += 100)
    await Promise.all(names.slice(from, from + 100).map(async (name) => lead(store, name, 1)));
}

/**
 * Writes the records of an election as its leader would. Resolves with the time before the swap, in
 * ms since the epoch.
 */
async function lead(store: Store, name: string, term: number): Promise<number> {
  const keys = [`elections/${name}/leader`, `elections/${name}/term`];
  const record = {
    v: 1,
    term: String(term),
    memberId: `web-${term % 7}`,
    incarnation: 'seeded',
    entry: `elections/${name}/candidates/seeded`,
  };
  const put = new TextEncoder().encode(JSON.stringify(record));
  const there = term === 1 ? [undefined, undefined] : await Promise.all(keys.map((key) => store.read(key)));
  const at = performance.timeOrigin + performance.now();
  const { swapped } = await store.compareAndSwap(keys.map((key, index) => ({ key, expect: there[index]?.revision ?? null, put })));
  assert.ok(swapped, `somebody else writes ${name}`);
  return at;
}
