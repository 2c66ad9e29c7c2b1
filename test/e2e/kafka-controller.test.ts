import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { accessibilityProblems, requireBrowser, startBrowser, until } from '@incumbent/test-support';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Control } from '../../examples/kafka-controller/demo/control.ts';
import { refusalCounts } from '../../examples/kafka-controller/demo/history.ts';
import { KafkaCluster, WAIT_MS } from '../integration/kafka-cluster.ts';

type Browser = Awaited<ReturnType<typeof startBrowser>>;
type Page = Awaited<ReturnType<Browser['newPage']>>;

/** Screenshots of the page, for people. */
const SCREENSHOTS = fileURLToPath(new URL('../../node_modules/.cache/incumbent/screenshots/', import.meta.url));

describe.runIf(await requireBrowser())('the page', { timeout: 120_000 }, () => {
  let kafka: KafkaCluster;
  let control: Control;
  let browser: Browser;
  let page: Page;
  const errors: string[] = [];

  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    [kafka, browser] = await Promise.all([KafkaCluster.open(), startBrowser()]);
    control = new Control(kafka);
    await kafka.begin('broker-1', 'broker-2', 'broker-3', 'broker-4');
    page = await browser.newPage();
    page.on('pageerror', (error) => errors.push(String(error)));
    await page.goto(kafka.cluster.urls.get('broker-1')!);
    await says('#link', 'live from 4 brokers');
  });
  beforeEach(async () => {
    await kafka.settled();
    await until(async () => (await text('#in-sync')) === 'all in sync', { what: 'a page that says so', withinMs: WAIT_MS });
  });
  afterAll(async () => {
    control.stop();
    await browser.close();
    await kafka[Symbol.asyncDispose]();
  });

  async function text(selector: string): Promise<string> {
    return (await page.locator(selector).innerText()).trim();
  }

  async function says(selector: string, words: string): Promise<void> {
    await until(async () => (await text(selector)).includes(words), { what: `"${words}" in ${selector}`, withinMs: WAIT_MS });
  }

  function card(broker: string): string {
    return `#brokers li[data-key="${broker}"]`;
  }

  async function press(label: string, broker: string): Promise<void> {
    await page.getByRole('button', { name: `${label}: ${broker}`, exact: true }).click();
  }

  async function holder(): Promise<string> {
    return (await text('#holder')).split(' ')[0]!;
  }

  async function untilAnother(before: string): Promise<string> {
    const isAnother = async (): Promise<string | false> => {
      const now = await holder();
      return now !== before && now !== 'Vacant' && now;
    };
    return until(isAnother, { what: 'another controller', withinMs: WAIT_MS });
  }

  /** The texts that do not fit into their elements. */
  async function cutLabels(): Promise<readonly string[]> {
    return page.evaluate<readonly string[]>(
      `[...document.querySelectorAll('#time > div, #vacancies > span, button, .name, .role, #holder, .figures dd')]
        .filter((node) => node.scrollWidth > node.clientWidth + 1 && node.clientWidth > 0)
        .map((node) => node.textContent)`,
    );
  }

  it('shows who is the controller, in which term, and every partition with its leader', async () => {
    expect(await text('#holder')).toBe(`${kafka.controller} term 1`);
    expect(await text('#led')).toBe('6 of 6');
    expect(await page.locator('#partitions tr').count()).toBe(6);
    expect(await page.locator('#partitions .chip').count()).toBe(18);
    expect(await page.locator('#partitions .chip.leads').count()).toBe(6);
  });

  it('pauses the controller in the middle of a write, and shows how that is refused when it is resumed', async () => {
    const zombie = await holder();
    await press('Pause mid-write', zombie);
    await says(`${card(zombie)} .role`, 'paused');
    await untilAnother(zombie);
    await press('Resume', zombie);
    await says('#refused', `The store refused a write of ${zombie}`);
    await says(`${card(zombie)} .stopped`, `The store refused a write of ${zombie}`);
    await says('#vacancies', ' s');
    await says(`${card(zombie)} .role`, 'in line');
  });

  it('hands over to the chosen broker', async () => {
    const successor = (await holder()) === 'broker-1' ? 'broker-3' : 'broker-1';
    await press('Make controller', successor);
    await says('#holder', successor);
    await says(`${card(successor)} .role`, 'controller, term');
  });

  it('pauses and resumes a broker', async () => {
    const broker = kafka.controller === 'broker-2' ? 'broker-3' : 'broker-2';
    await press('Pause', broker);
    await says(`${card(broker)} .keeps`, 'leads 0');
    await press('Resume', broker);
    await says(`${card(broker)} .role`, 'in line');
  });

  it('cuts off the controller, and connects it again', async () => {
    const victim = await holder();
    await press('Cut off', victim);
    await says(`${card(victim)} .role`, 'cut off');
    await untilAnother(victim);
    await press('Reconnect', victim);
    await says(`${card(victim)} .role`, 'in line');
  });

  it('goes on when the broker is killed that it came from, and starts that again', async () => {
    await press('Kill', 'broker-1');
    await says(`${card('broker-1')} .role`, 'gone');
    await says('#link', 'live from 3 brokers');
    await press('Start again', 'broker-1');
    await says('#link', 'live from 4 brokers');
    await says(`${card('broker-1')} .role`, 'in line');
  });

  it('adds a broker, which gets its share', async () => {
    await page.getByRole('button', { name: 'Add a broker' }).click();
    await says(card('broker-5'), 'of 3 partitions');
  });

  it('counts what was refused as the terminal does', async () => {
    // More may be refused meanwhile, so each comparison counts anew.
    const agree = async (): Promise<boolean> => {
      const shown = [await text('#refused-count'), await text('#refused-by')];
      const { store, broker, replica } = refusalCounts(kafka.cluster.heard);
      const expected = [String(store + broker + replica), `by store ${store}, brokers ${broker}, replicas ${replica}`];
      return expected.every((part, i) => shown[i] === part);
    };
    await until(agree, { what: 'the same counts', withinMs: WAIT_MS });
  });

  it('explains what to try and what the words mean', async () => {
    await says('.guide', 'Pause mid-write, wait for the next controller, then Resume');
    await page.getByText('What the words mean').click();
    for (const word of ['Term', 'Epoch', 'Cut off', 'Pause mid-write']) expect(await text('.words')).toContain(word);
  });

  it('stops sending messages, and sends them again', async () => {
    await page.getByRole('button', { name: 'Stop sending' }).click();
    await says('#rate', 'no load');
    const before = await text('#acknowledged');
    await page.getByRole('button', { name: 'Send messages' }).click();
    await until(async () => (await text('#acknowledged')) !== before, { what: 'messages', withinMs: WAIT_MS });
  });

  it('works by keyboard: every button can be reached, and the one that takes the place of a pressed one has the focus', async () => {
    const broker = kafka.controller === 'broker-2' ? 'broker-3' : 'broker-2';
    const label = (): Promise<string | null> => page.evaluate('document.activeElement.getAttribute("aria-label")');
    await page.evaluate('document.activeElement.blur()');
    for (let presses = 0; presses < 60 && (await label()) !== `Pause: ${broker}`; presses += 1) await page.keyboard.press('Tab');
    expect(await label()).toBe(`Pause: ${broker}`);
    await page.keyboard.press('Enter');
    await says(`${card(broker)} .role`, 'paused');
    expect(await label()).toBe(`Resume: ${broker}`);
    await page.keyboard.press('Enter');
    await says(`${card(broker)} .role`, 'in line');
    expect(await label()).toBe(`Pause: ${broker}`);
  });

  it.each([1280, 768, 390].flatMap((width) => (['light', 'dark'] as const).map((colorScheme) => [width, colorScheme] as const)))(
    'fits a window of %i pixels, %s',
    async (width, colorScheme) => {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const fits = async (): Promise<boolean> => (await page.evaluate<number>('document.documentElement.scrollWidth')) <= width;
      await until(fits, { what: `a page of ${width} pixels`, withinMs: WAIT_MS });
      await until(async () => (await cutLabels()).length === 0, { what: 'labels that fit', withinMs: WAIT_MS });
      expect(await accessibilityProblems(page)).toEqual([]);
      await page.screenshot({ path: join(SCREENSHOTS, `kafka-controller-${width}-${colorScheme}.png`), fullPage: true });
    },
  );

  it('has thrown nothing, and lost nothing', async () => {
    expect(errors).toEqual([]);
    await kafka.checkNothingLost();
  });
});
