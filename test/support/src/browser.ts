/** A browser for tests of pages: Chromium, headless. */

import { access, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';

import { unpackedPackages } from './servers/packages.ts';
import { canBeHad } from './servers/require.ts';
import { firstOf, type Candidate } from './servers/source.ts';
import { setting } from './settings.ts';

interface Chromium {
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
}

let found: Promise<Chromium> | undefined;

/**
 * Whether Chromium is available, for `describe.runIf(await requireBrowser())`, so that the runner
 * counts skipped tests. If not, writes all that was tried to standard error. With
 * `INCUMBENT_REQUIRE_STORES=1` it throws instead.
 */
export function requireBrowser(): Promise<boolean> {
  return canBeHad(() => (found ??= find()));
}

export async function startBrowser(): Promise<Browser> {
  const { executablePath, env } = await (found ??= find());
  // Chromium's sandbox does not run as root.
  return chromium.launch({ executablePath, env: { ...process.env, ...env }, args: ['--no-sandbox'] });
}

/**
 * What axe-core finds on the page and rates as serious or critical: the rule, and the elements.
 * Empty if nothing.
 */
export async function accessibilityProblems(page: Page): Promise<readonly string[]> {
  // Not as a script of the page, which its content security policy may refuse.
  await page.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(', ')}`);
}

/** The browser that is configured, an installed one, or one from the system's packages. */
async function find(): Promise<Chromium> {
  const given = setting('INCUMBENT_CHROMIUM');
  if (given !== undefined) return { executablePath: given, env: {} };
  return firstOf('Chromium', [installed('/usr/bin/chromium'), installed('/usr/bin/google-chrome'), { what: 'packages', find: unpacked }]);
}

function installed(path: string): Candidate<Chromium> {
  return { what: path, find: async () => ((await isThere(path)) ? { executablePath: path, env: {} } : undefined) };
}

async function unpacked(): Promise<Chromium> {
  const folder = await unpackedPackages({ names: ['chromium', 'fonts-dejavu-core'], dependencies: true, as: 'chromium' });
  const libraries = join(folder, 'usr', 'lib', `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`);
  const env = { LD_LIBRARY_PATH: `${libraries}:${join(libraries, 'pulseaudio')}` };
  return { executablePath: join(folder, 'usr', 'lib', 'chromium', 'chromium'), env };
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
