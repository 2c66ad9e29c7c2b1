/** What the options of every store with servers have in common: tests, and a file for them. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { makeScratch } from './scratch.ts';

/** Runs `use` with the name of a file that stands for a certificate, percent-encoded for a URL. */
export async function withCertificateFile(use: (file: string) => Promise<void>): Promise<void> {
  const scratch = await makeScratch('options');
  try {
    const file = join(scratch.path, 'ca.pem');
    await writeFile(file, 'not read as a certificate');
    await use(encodeURIComponent(file));
  } finally {
    await scratch.remove();
  }
}

/** Declares a test for each URL that `open` refuses. The password or token in a URL must be `secret`. */
export function refusesUrls(open: (url: string) => Promise<unknown>, urls: readonly (readonly [defect: string, url: string])[]): void {
  it.each(urls)('with %s is refused, without its password in the error', async (_, url) => {
    const error: unknown = await open(url).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'INVALID_OPTION' });
    expect(String(error)).not.toContain('secret');
  });
}

/** Declares a test for each object of options that `open` refuses, as a caller without types could pass it. */
export function refusesOptions(
  open: (options: never) => Promise<unknown>,
  options: readonly (readonly [defect: string, options: unknown])[],
): void {
  it.each(options)('options with %s are refused', async (_, each) => {
    await expect(Reflect.apply(open, undefined, [each])).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
}
