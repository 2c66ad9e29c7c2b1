/** What the options of every store with servers have in common: tests, and a file for them. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { makeScratch } from './scratch.ts';

/** Runs `use` with the name of a file that stands for a certificate, percent-encoded for a URL. */
export async function withCertificateFile(use: (file: string) => void): Promise<void> {
  const scratch = await makeScratch('options');
  try {
    const file = join(scratch.path, 'ca.pem');
    await writeFile(file, '-----BEGIN CERTIFICATE-----\n');
    use(encodeURIComponent(file));
  } finally {
    await scratch.remove();
  }
}

/** Three servers, as a URL names them. The last one has the default port. */
export const THREE_SERVERS = 'one:1,[::1]:2,three';

/** What an adapter reads from {@link THREE_SERVERS}. */
export function threeServers(defaultPort: number): readonly { readonly host: string; readonly port: number }[] {
  return [
    { host: 'one', port: 1 },
    { host: '::1', port: 2 },
    { host: 'three', port: defaultPort },
  ];
}

/** The name of a defect, and a URL or options that have it. */
type Defect<T> = readonly [defect: string, value: T];

/** Defects of the URLs of every store. */
function commonDefects(scheme: string): readonly Defect<string>[] {
  return [
    ['another scheme', 'http://one:80'],
    ['no host', `${scheme}://`],
    ['an empty or a second host', `${scheme}://one,,two`],
    ['a port out of range', `${scheme}://one:70000`],
    ['a bad percent', `${scheme}://:%zz@one`],
    ['a namespace with a bad character', `${scheme}://one/a%20b`],
    ['a namespace that ends in a slash', `${scheme}://one/a/`],
    ['an unknown parameter', `${scheme}://one?timeout=5`],
    ['TLS parameters without TLS', `${scheme}://one?ca=x`],
    ['a time that is not a number', `${scheme}://one?connectTimeoutMs=soon`],
  ];
}

/**
 * Declares a test for each URL that `open` refuses: those with the defects that the stores share,
 * and `own`. The password or token in a URL must be `secret`.
 */
export function refusesUrls(open: (url: string) => Promise<unknown>, scheme: string, own: readonly Defect<string>[] = []): void {
  it.each([...commonDefects(scheme), ...own])('with %s is refused, without its password in the error', async (_, url) => {
    const error: unknown = await open(url).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'INVALID_OPTION' });
    expect(String(error)).not.toContain('secret');
  });
}

/**
 * Declares a test for each object of options that `open` refuses: `valid` with one of the defects
 * that the stores share, and `own`. A caller without types could pass such options.
 */
export function refusesOptions(open: (options: never) => Promise<unknown>, valid: object, own: readonly Defect<unknown>[]): void {
  const common: readonly Defect<unknown>[] = [
    ['no options', undefined],
    ['no server', {}],
    ['an unknown option', { ...valid, retries: 3 }],
    ['too short a time to connect', { ...valid, connectTimeoutMs: 50 }],
    ['a certificate without its key', { ...valid, tls: { cert: 'x' } }],
    ['a connect that is not a function', { ...valid, connect: 'tcp' }],
  ];
  it.each([...common, ...own])('options with %s are refused', async (_, each) => {
    await expect(Reflect.apply(open, undefined, [each])).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
}
