// Every button and state of the page, in Chromium, by mouse and by keyboard.
import { mkdirSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { accessibilityProblems, requireBrowser, setting, startBrowser, until } from '@incumbent/test-support';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { tellStory } from './story.ts';
import { UiPage } from './ui-page.ts';

type Browser = Awaited<ReturnType<typeof startBrowser>>;
type Page = Awaited<ReturnType<Browser['newPage']>>;

const WAIT_MS = 30_000;
const TOKEN = 'a-token-of-24-characters';
const WIDTHS = [390, 820, 1440] as const;
const LOOKS = WIDTHS.flatMap((width) => (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })));

/** Screenshots of the page, for people. */
const SCREENSHOTS = fileURLToPath(new URL('../../../../node_modules/.cache/incumbent/screenshots/', import.meta.url));
/** The picture in the README. */
const PICTURE = fileURLToPath(new URL('../../../../docs/incumbent-ui.png', import.meta.url));

describe.runIf(await requireBrowser())('the page of incumbent ui', { timeout: 240_000 }, () => {
  let browser: Browser;
  let page: Page;
  let ui: UiPage;
  const errors: string[] = [];

  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    browser = await startBrowser();
  }, 240_000);
  afterAll(async () => browser.close());
  afterEach(async () => {
    await page.close();
    await ui[Symbol.asyncDispose]();
    expect(errors.splice(0)).toEqual([]);
    expect(ui.failures).toEqual([]);
  });

  /** Opens a page, which has arrived with all documents. */
  async function show(opened: UiPage, hash = ''): Promise<void> {
    ui = opened;
    page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    page.setDefaultTimeout(WAIT_MS);
    page.on('pageerror', (error) => errors.push(String(error)));
    // Also a violation of the content security policy.
    page.on(
      'console',
      (message) => message.type() === 'error' && !/Failed to load resource/.test(message.text()) && errors.push(message.text()),
    );
    await page.goto(`${ui.url}/${hash}`);
  }

  async function ready(): Promise<void> {
    await page.waitForSelector('html[data-ready]');
  }

  async function text(selector: string): Promise<string> {
    const found = page.locator(selector);
    return (await found.isVisible()) ? (await found.innerText()).trim() : '';
  }

  async function says(selector: string, words: string): Promise<void> {
    await until(async () => (await text(selector)).includes(words), { what: `"${words}" in ${selector}`, withinMs: WAIT_MS });
  }

  async function focused(): Promise<string> {
    return page.evaluate<string>('document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent.trim()');
  }

  /** Presses Tab until the element has the focus. */
  async function tabTo(label: string): Promise<void> {
    for (let presses = 0; presses < 60; presses += 1) {
      if ((await focused()).startsWith(label)) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`Tab does not reach "${label}"`);
  }

  /** The names in the list, in the order in which it shows them. */
  async function rows(): Promise<readonly string[]> {
    return page.evaluate<readonly string[]>(
      `[...document.querySelectorAll('#rows .row')].toSorted((a, b) => a.ariaRowIndex - b.ariaRowIndex).map((row) => row.dataset.key)`,
    );
  }

  async function listed(...names: readonly string[]): Promise<void> {
    await until(async () => JSON.stringify(await rows()) === JSON.stringify(names), {
      what: `the rows ${names.join()}`,
      withinMs: WAIT_MS,
    });
  }

  /** What does not fit: the page into the window, or a text into its element. */
  async function overflow(): Promise<readonly string[]> {
    return page.evaluate<readonly string[]>(
      `[...(document.documentElement.scrollWidth > innerWidth ? ['the page'] : []),
        ...[...document.querySelectorAll('button, .views, .c-name, .c-leader, .c-term, .c-since, .timeline.large .span, .badge, .member, h1, h2')]
        .filter((node) => node.checkVisibility() && node.closest('.unseen') === null && (node.closest('.list-head')?.clientWidth ?? 9) > 1 && node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).display !== 'inline')
        .map((node) => node.className + ' ' + node.textContent)]`,
    );
  }

  describe('of a namespace with a history', () => {
    it.each(LOOKS)('fits a window of $width pixels, $colorScheme, in every view', async ({ width, colorScheme }) => {
      await show(await tellStory({ operate: true }));
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await ready();
      const views = [
        ['elections', '#/', '#rows', 'scheduler'],
        ['election', '#/election/scheduler', '#queue', 'scheduler-2'],
        ['vacant', '#/election/payments', '#opened', 'Vacant: resigned'],
        ['ends', '#/ends', '#ends', 'vacant for'],
        ['group', '#/group/brokers', '#opened-group', 'broker-3'],
        ['store', '#/store', '#findings', 'linearizable'],
      ] as const;
      for (const [name, hash, selector, words] of views) {
        await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
        await says(selector, words);
        await until(async () => (await overflow()).length === 0, {
          what: `no overflow: ${(await overflow()).join('; ')}`,
          withinMs: WAIT_MS,
        });
        expect(await accessibilityProblems(page), name).toEqual([]);
        await page.screenshot({ path: join(SCREENSHOTS, `ui-${name}-${width}-${colorScheme}.png`) });
      }
      await page.evaluate('location.hash = "#/election/scheduler"');
      await page.getByRole('button', { name: 'Hand over to scheduler-2' }).click();
      await says('#confirm', 'scheduler-3 is asked to hand over to scheduler-2');
      expect(await accessibilityProblems(page)).toEqual([]);
      await page.screenshot({ path: join(SCREENSHOTS, `ui-confirm-${width}-${colorScheme}.png`) });
    });

    it('is drawn for the README', async () => {
      await show(await tellStory({ operate: true }), '#/election/scheduler');
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
      await says('#queue', 'scheduler-2');
      await says('#count-store', 'ok');
      await says('#rows', 'thumbnailer');
      await page.mouse.click(700, 20);
      await page.screenshot({ path: join(SCREENSHOTS, 'incumbent-ui.png') });
      if (setting('INCUMBENT_PICTURES') === '1') await copyFile(join(SCREENSHOTS, 'incumbent-ui.png'), PICTURE);
    });

    it('shows who leads since when, the queue in order, the ends, and what it has not seen', async () => {
      await show(await tellStory(), '#/election/scheduler');
      await says('#queue', 'scheduler-2');
      expect(await text('#opened-state')).toBe('scheduler-3 leads');
      expect(await text('#opened-facts')).toMatch(/^Term 3 · for 1 min, since \d\d:\d\d:\d\d · the term before ended: member closed$/);
      expect(await page.locator('#queue .member').allInnerTexts()).toEqual(['scheduler-3', 'scheduler-1', 'scheduler-2']);
      expect(await page.locator('#own-ends .badge').allInnerTexts()).toEqual(['member closed', 'member closed']);
      expect(await text('#own-ends li:first-child .then')).toMatch(/^vacant for [\d.]+ m?s, then scheduler-3 leads, in term 3$/);
      expect(await page.locator('#opened-time').getAttribute('aria-label')).toMatch(/^last 10 min: 3 terms/);
      expect(await text('#history')).toContain('A store keeps no history');
      expect(await text('#rows [data-key="payments"] .c-leader')).toBe('vacant: resigned');
      expect(await text('#rows [data-key="cron"] .c-since')).toMatch(/^over \d+ min$/);
      expect(await page.locator('#queue button:visible').count()).toBe(0);
    });

    it('searches, filters and sorts', async () => {
      await show(await tellStory());
      await ready();
      await page.locator('#search').fill('ing');
      await listed('billing-close', 'ingest');
      expect(await text('#matches')).toBe('2 elections match');
      await page.locator('#search').fill('INGEST-2');
      await listed('ingest');
      await page.locator('#search').fill('nothing');
      await says('#no-elections', 'No election matches.');
      await page.getByRole('button', { name: 'Show all' }).click();
      await until(async () => (await rows()).length === 15, { what: 'all rows', withinMs: WAIT_MS });
      await page.getByRole('button', { name: /^Vacant/ }).click();
      await listed('payments');
      await page.getByRole('button', { name: /^Unknown/ }).click();
      await says('#no-elections', 'No election matches.');
      await page.getByRole('button', { name: /^Led/ }).click();
      await until(async () => (await rows()).length === 14, { what: 'the led rows', withinMs: WAIT_MS });
      await page.getByRole('button', { name: /^All/ }).click();
      await page.locator('#sort').selectOption('change');
      await until(async () => (await rows()).slice(0, 3).join() === 'payments,scheduler,ingest', { what: 'this order', withinMs: WAIT_MS });
      await page.locator('#scale').selectOption('60');
      await until(async () => (await page.locator('#rows .timeline').first().getAttribute('aria-label'))?.startsWith('last 1 h'), {
        what: 'timelines of an hour',
        withinMs: WAIT_MS,
      });
    });

    it('works by keyboard alone', async () => {
      await show(await tellStory({ operate: true }));
      await ready();
      // Frames are late, as on a busy machine, and keys are not.
      await page.evaluate(
        '{ const next = requestAnimationFrame; window.requestAnimationFrame = (draw) => setTimeout(() => next(draw), 100); }',
      );
      await page.keyboard.press('/');
      await page.keyboard.type('s');
      // The page filters the list before its next frame.
      await says('#matches', 'elections match');
      await page.keyboard.press('ArrowDown');
      await until(async () => (await focused()) === 'billing-close', { what: 'the first row', withinMs: WAIT_MS });
      await page.keyboard.press('End');
      await until(async () => (await focused()) === 'session-sweeper', { what: 'the last row', withinMs: WAIT_MS });
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('ArrowUp');
      expect(await focused()).toBe('scheduler');
      await page.keyboard.press('Enter');
      await says('#queue', 'scheduler-2');
      expect(await focused()).toBe('scheduler');
      await tabTo('Hand over to scheduler-2');
      await page.keyboard.press('Enter');
      await says('#confirm', 'is asked to hand over');
      expect(await focused()).toBe('Cancel');
      await page.keyboard.press('Escape');
      expect(await page.locator('#confirm').isVisible()).toBe(false);
      expect(await focused()).toBe('Hand over to scheduler-2');
      await page.keyboard.press('Enter');
      await says('#confirm', 'is asked to hand over');
      await tabTo('Hand over');
      await page.keyboard.press('Enter');
      await says('#confirm-result', 'scheduler-2 leads in term 4.');
      expect(await focused()).toBe('Close');
      await page.keyboard.press('Enter');
      await says('#opened-state', 'scheduler-2 leads');
      await page.keyboard.press('Escape');
      await until(async () => (await focused()) === 'scheduler', { what: 'the row again', withinMs: WAIT_MS });
      expect(await text('#opened')).toBe('');
    });

    it('makes a leader step down only after a confirmation', async () => {
      await show(await tellStory({ operate: true }), '#/election/ingest');
      await says('#queue', 'ingest-2');
      await page.getByRole('button', { name: 'Resign: ingest-2' }).click();
      await says('#confirm-steps', 'Nobody waits in the queue');
      await page.getByRole('button', { name: 'Cancel' }).click();
      expect(ui.operated).toEqual([]);
      await page.evaluate('location.hash = "#/election/scheduler"');
      await page.getByRole('button', { name: 'Resign: scheduler-3' }).click();
      await says('#confirm-steps', 'Then scheduler-1 leads, which is next in the queue now.');
      await page.getByRole('button', { name: 'Step down' }).click();
      await says('#confirm-result', 'scheduler-1 leads in term 4.');
      await page.getByRole('button', { name: 'Close' }).click();
      await says('#opened-state', 'scheduler-1 leads');
      expect(ui.operated).toEqual(['resign "scheduler" from term 3: scheduler-1 leads in term 4.']);
    });

    it('walks through the views, and checks the store on demand', async () => {
      await show(await tellStory());
      await ready();
      await page.getByRole('link', { name: /^Ends/ }).click();
      await page.locator('#ends a').first().click();
      await says('#opened-state', 'Vacant');
      await page.getByRole('link', { name: 'All elections' }).click();
      await page.getByRole('link', { name: /^Groups/ }).click();
      await page.getByRole('link', { name: 'brokers' }).click();
      await says('#opened-group', '3 members, in the order of joining');
      await page.getByRole('link', { name: 'All groups' }).click();
      await page.getByRole('link', { name: /^Store/ }).click();
      await says('#checked', 'The checks of this page only read.');
      const before = await text('#checked');
      await until(
        async () => {
          const check = page.getByRole('button', { name: 'Check again' });
          if (await check.isEnabled()) await check.click();
          return (await text('#checked')) !== before;
        },
        { what: 'another check', withinMs: WAIT_MS },
      );
    });
  });

  it('says what to expect if there is no election, no end and no group', async () => {
    await show(await UiPage.open());
    await says('#no-elections', 'There has been no election in this namespace.');
    for (const [hash, selector, words] of [
      ['#/ends', '#no-ends', 'No term has ended since'],
      ['#/groups', '#no-groups', 'No member has joined a group'],
      ['#/election/later', '#opened', 'There is no such election'],
    ] as const) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await says(selector, words);
      expect(await accessibilityProblems(page)).toEqual([]);
    }
    await ui.campaigns('a', 'later');
    await says('#opened-state', 'a leads');
  });

  it('says that the store is away, shows the last states, and goes on when the store is back', async () => {
    await show(await UiPage.open({ prepare: (opened) => opened.campaigns('a', 'db') }), '#/election/db');
    await says('#opened-state', 'a leads');
    ui.store.link.refuse();
    await says('#away', 'The store does not answer since');
    await says('#opened-state', 'Unknown, last a');
    await says('#count-store', 'away');
    expect(await accessibilityProblems(page)).toEqual([]);
    for (const { width, colorScheme } of LOOKS) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      expect(await overflow()).toEqual([]);
      await page.screenshot({ path: join(SCREENSHOTS, `ui-away-${width}-${colorScheme}.png`) });
    }
    ui.store.link.heal();
    await says('#opened-state', 'a leads');
    await until(async () => !(await page.locator('#away').isVisible()), { what: 'no notice', withinMs: WAIT_MS });
  });

  it('shows an election that cannot be read', async () => {
    await show(await UiPage.open({ prepare: (opened) => opened.campaigns('a', 'db') }), '#/election/db');
    await says('#opened-state', 'a leads');
    await ui.spoil('db');
    await says('#opened-state', 'Cannot be read');
    await says('#opened-error', 'FOREIGN_DATA');
    await page.evaluate('location.hash = "#/store"');
    await says('#findings', 'election "db"');
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  it('connects again by itself when incumbent ui is back, and on demand', async () => {
    await show(await UiPage.open({ prepare: (opened) => opened.campaigns('a', 'db') }));
    await listed('db');
    const port = await ui.stopListening();
    await says('#offline', 'No connection to incumbent ui since');
    expect(await text('#link')).toBe('reconnecting');
    expect(await accessibilityProblems(page)).toEqual([]);
    for (const { width, colorScheme } of LOOKS) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      expect(await overflow()).toEqual([]);
      await page.screenshot({ path: join(SCREENSHOTS, `ui-offline-${width}-${colorScheme}.png`) });
    }
    await ui.campaigns('b', 'other');
    await ui.listen(port);
    await page
      .getByRole('button', { name: 'Try now' })
      .click({ timeout: 2_000 })
      .catch(() => {});
    await says('#link', 'live');
    await listed('db', 'other');
    expect(await page.locator('#offline').isVisible()).toBe(false);
  });

  it('asks for the token, and keeps it for the tab', async () => {
    await show(
      await UiPage.open({ server: { access: { isLocal: false, token: TOKEN } }, prepare: (opened) => opened.campaigns('a', 'db') }),
    );
    await page.locator('#login').waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.screenshot({ path: join(SCREENSHOTS, 'ui-login.png') });
    await page.keyboard.type('another-token-of-24-char');
    await page.keyboard.press('Enter');
    await says('#login-wrong', 'That is not the token.');
    await page.locator('#token').fill(TOKEN);
    await page.getByRole('button', { name: 'Open' }).click();
    await listed('db');
    await page.reload();
    await listed('db');
  });

  it('shows values of members as text, whatever they contain', async () => {
    const value = '<img src=x onerror="document.title = `hacked`"><b>bold</b>';
    await show(await UiPage.open({ prepare: (opened) => opened.campaigns('a', 'db', value) }), '#/election/db');
    await says('#queue', '<b>bold</b>');
    expect(await page.locator('#queue b, #queue img').count()).toBe(0);
    expect(await page.title()).not.toContain('hacked');
  });

  it('has only the rows in the window in the document, and reaches all of them', async () => {
    await show(await UiPage.open({ prepare: (opened) => opened.seed(3_000) }));
    await ready();
    await until(async () => (await text('#count-elections')) === '3,000', { what: '3,000 elections', withinMs: WAIT_MS });
    expect(await page.locator('#list').getAttribute('aria-rowcount')).toBe('3001');
    expect((await rows()).length).toBeLessThan(50);
    await page.locator('#search').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('End');
    await until(async () => (await focused()) === 'election-2999', { what: 'the last row', withinMs: WAIT_MS });
    expect((await rows()).length).toBeLessThan(50);
    await page.keyboard.press('PageUp');
    await page.keyboard.press('Home');
    await until(async () => (await focused()) === 'election-0', { what: 'the first row', withinMs: WAIT_MS });
    await page.locator('#search').fill('election-2718');
    await listed('election-2718');
  });
});
