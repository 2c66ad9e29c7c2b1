/** A browser for tests of pages: Chromium, headless. */

import { writeSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

import { run } from './run.ts';
import { unpackedPackages } from './servers/packages.ts';
import { setting } from './settings.ts';

interface Chromium {
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
}

let found: Promise<Chromium> | undefined;

/**
 * Whether a Chromium can be had, for `describe.runIf(await requireBrowser())`: the runner then
 * counts what is skipped. Where it cannot, this says so on standard error, with all that was tried.
 */
export async function requireBrowser(): Promise<boolean> {
  try {
    await (found ??= find());
    return true;
  } catch (error) {
    writeSync(2, `SKIPPED TESTS: no Chromium to be had: ${error instanceof Error ? error.message : String(error)}\n`);
    return false;
  }
}

export async function startBrowser(): Promise<Browser> {
  const { executablePath, env } = await (found ??= find());
  // Where tests run as root, Chromium's sandbox refuses to.
  return chromium.launch({ executablePath, env: { ...process.env, ...env }, args: ['--no-sandbox'] });
}

/** The one that is given, one that is installed, or the system's packages. */
async function find(): Promise<Chromium> {
  const given = setting('INCUMBENT_CHROMIUM');
  if (given !== undefined) return { executablePath: given, env: {} };
  const failures: string[] = [];
  for (const name of ['/usr/bin/chromium', '/usr/bin/google-chrome']) {
    if (await isThere(name)) return { executablePath: name, env: {} };
    failures.push(`no ${name}`);
  }
  try {
    return await unpacked();
  } catch (error) {
    throw new Error([...failures, `packages: ${error instanceof Error ? error.message : String(error)}`].join('; '), { cause: error });
  }
}

/** Of the packages that it depends on, those that this system does not have. */
async function unpacked(): Promise<Chromium> {
  const plan = await run('apt-get', ['install', '--simulate', '--no-install-recommends', 'chromium', 'fonts-dejavu-core']);
  const names = plan.split('\n').flatMap((line) => /^Inst (\S+)/.exec(line)?.[1] ?? []);
  const folder = await unpackedPackages({ names, as: 'chromium' });
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
