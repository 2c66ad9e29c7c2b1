/** The store of a command: where its URL comes from, and how it is opened and closed. */

import { existsSync, readFileSync } from 'node:fs';

import { type ErrorCode, isIncumbentError, type Store } from '@incumbent/core';
import { describeHidden, showUrl } from '@incumbent/core/adapter';
import type { OpenStoreOptions } from 'incumbent';

import { CliError, Exit, toCliError, usageError } from '../exit.ts';
import type { CliContext } from '../context.ts';

/** A URL with a password or a token in front of its host, or in a parameter. */
const WITH_SECRET = /^[^:]+:\/\/(?:[^@]*:[^@]+@|.*[?&][^=&]*(?:password|token|secret)[^=&]*=[^&])/is;

export interface StoreOptions {
  readonly store?: string;
  readonly storeFile?: string;
}

/**
 * The URL of the first that is given: `--store`, `--store-file`, `INCUMBENT_STORE`,
 * `INCUMBENT_STORE_FILE`. Warns if the URL has a secret and is on the command line.
 *
 * @throws A usage error if none is given, or if the file cannot be read.
 */
export function storeUrl({ store, storeFile }: StoreOptions, { env, err }: CliContext): string {
  if (store !== undefined && storeFile !== undefined) throw usageError('--store and --store-file cannot both be given');
  if (store !== undefined) {
    if (WITH_SECRET.test(store))
      err.line(
        err.style(
          'yellow',
          'incumbent: other users of this machine can read the secret in --store with ps; use INCUMBENT_STORE or --store-file',
        ),
      );
    return store;
  }
  if (storeFile !== undefined) return readUrl(storeFile);
  const url = env['INCUMBENT_STORE'] ?? '';
  if (url !== '') return url;
  const file = env['INCUMBENT_STORE_FILE'] ?? '';
  if (file !== '') return readUrl(file);
  throw usageError('no store is given: use --store URL, --store-file FILE, or the environment variable INCUMBENT_STORE');
}

function readUrl(file: string): string {
  try {
    const [first = ''] = readFileSync(file, 'utf8').split('\n');
    if (first.trim() !== '') return first.trim();
  } catch (error) {
    // Not the system's message, which quotes the path: the path may be a URL by mistake.
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw usageError(`the store file ${shownFile(file)} cannot be read: ${code}`);
  }
  throw usageError(`the first line of the store file ${shownFile(file)} is empty: it must be the URL of a store`);
}

function shownFile(file: string): string {
  return /[:@]/.test(file) ? `(${describeHidden(file)})` : file;
}

export async function openUrl(url: string, { openStore: open }: CliContext, options: OpenStoreOptions = {}): Promise<Store> {
  try {
    return await open(url, options);
  } catch (error) {
    const { exitCode, code, message } = toCliError(error);
    const at = isIncumbentError(error) ? ` (${showUrl(url)})` : '';
    throw new CliError(exitCode === Exit.NO ? Exit.STORE : exitCode, `${message}${at}`, { code, cause: error });
  }
}

/** How often a command says that it still waits for its store, in ms. */
const SAY_EVERY_MS = 5_000;

/**
 * Returns an `onRetry` for a command that waits for its store. Calls `say` after the first failed
 * attempt, and then at most once in 5 s.
 */
export function sayWhileWaiting(say: (why: string) => void): (error: unknown) => void {
  let lastMs = -Infinity;
  return (error) => {
    if (performance.now() - lastMs < SAY_EVERY_MS) return;
    lastMs = performance.now();
    say(toCliError(error).text);
  };
}

/**
 * Opens a store for a command that takes part in no election. Creates neither the schema of a
 * PostgreSQL store nor the file of a SQLite store: the URL may be wrong, or the store may have lost
 * its data.
 */
export async function openExisting(url: string, context: CliContext, options?: OpenStoreOptions): Promise<Store> {
  const file = fileOf(url);
  if (file !== undefined && !existsSync(file))
    throw new CliError(Exit.STORE, `there is no such file, and this command does not create it (${showUrl(url)})`, {
      code: 'UNREACHABLE' satisfies ErrorCode,
    });
  try {
    return await openUrl(withoutMigration(url), context, options);
  } catch (error) {
    const { exitCode, code, message } = toCliError(error);
    throw new CliError(exitCode, message.replace(MIGRATION_HINT, 'or start a member: this command does not create it'), {
      code,
      cause: error,
    });
  }
}

/** What the store says to those who could let it create the schema. */
const MIGRATION_HINT = 'or open the store as a role that may create it';

/** The path of the file of a SQLite store. Undefined for other stores and for an invalid URL. */
function fileOf(url: string): string | undefined {
  const [, path] = /^sqlite:(?:\/\/(?=\/))?(?!\/\/)([^?#]+)/i.exec(url) ?? [];
  try {
    return path === undefined ? undefined : decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** The URL of a PostgreSQL store with `migrate=false`, unless the URL says `migrate=…` itself. */
function withoutMigration(url: string): string {
  if (!/^postgres(?:ql)?:/i.test(url) || /[?&]migrate=/.test(url)) return url;
  return `${url}${url.includes('?') ? '&' : '?'}migrate=false`;
}

/** Opens the store, calls the task with it, and closes it when the task has settled. */
export async function withStore<T>(options: StoreOptions, context: CliContext, task: (store: Store) => Promise<T>): Promise<T> {
  const store = await openExisting(storeUrl(options, context), context);
  try {
    return await task(store);
  } finally {
    await store.close();
  }
}
