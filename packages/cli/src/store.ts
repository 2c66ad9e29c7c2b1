/** Which store a command works on, and how its URL is kept from other users of the machine. */

import { readFileSync } from 'node:fs';

import { isIncumbentError, type Store } from '@incumbent/core';
import { describeHidden, showUrl } from '@incumbent/core/adapter';

import { CliError, Exit, toCliError, usageError } from './exit.ts';
import type { Surroundings } from './surroundings.ts';

export interface StoreOptions {
  readonly store?: string;
  readonly storeFile?: string;
}

/** `--store`, `--store-file`, `INCUMBENT_STORE`, `INCUMBENT_STORE_FILE`: the first that is given. */
export function storeUrl({ store, storeFile }: StoreOptions, { env, err }: Surroundings): string {
  if (store !== undefined && storeFile !== undefined) throw usageError('--store and --store-file cannot both be given');
  if (store !== undefined) {
    if (/^[^:]+:\/\/[^@]*:[^@]+@/s.test(store))
      err.line(
        err.style(
          'yellow',
          'incumbent: other users of this machine can read the secret in --store (ps); use INCUMBENT_STORE or --store-file',
        ),
      );
    return store;
  }
  if (storeFile !== undefined) return readUrl(storeFile);
  const url = env['INCUMBENT_STORE'] ?? '';
  if (url !== '') return url;
  const file = env['INCUMBENT_STORE_FILE'] ?? '';
  if (file !== '') return readUrl(file);
  throw usageError('which store? Give --store URL, --store-file FILE, or INCUMBENT_STORE in the environment');
}

function readUrl(file: string): string {
  try {
    const [first = ''] = readFileSync(file, 'utf8').split('\n');
    if (first.trim() !== '') return first.trim();
  } catch (error) {
    // Without the message of the system, which has the path: the URL itself may stand there by mistake.
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'it failed';
    throw usageError(`the store file ${shownFile(file)} cannot be read: ${code}`);
  }
  throw usageError(`the store file ${shownFile(file)} has no URL in its first line`);
}

function shownFile(file: string): string {
  return /[:@]/.test(file) ? `(${describeHidden(file)})` : file;
}

export async function openUrl(url: string, { openStore: open }: Surroundings): Promise<Store> {
  try {
    return await open(url);
  } catch (error) {
    const { exitCode, message } = toCliError(error);
    const at = isIncumbentError(error) ? ` (${showUrl(url)})` : '';
    throw new CliError(exitCode === Exit.NO ? Exit.STORE : exitCode, `${message}${at}`, { cause: error });
  }
}

/** Opens the store, gives it to the task, and closes it however that ends. */
export async function withStore<T>(options: StoreOptions, surroundings: Surroundings, task: (store: Store) => Promise<T>): Promise<T> {
  const store = await openUrl(storeUrl(options, surroundings), surroundings);
  try {
    return await task(store);
  } finally {
    await store.close();
  }
}
