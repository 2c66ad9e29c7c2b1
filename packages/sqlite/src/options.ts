/** Reads the options of a store from a URL or an object, and checks them. */

import { resolve } from 'node:path';

import {
  checkBoolean,
  checkKnown,
  checkNumber,
  checkPath,
  invalidSecret,
  invalidText,
  isUrl,
  showUrl,
  urlText,
} from '@incumbent/core/adapter';

/**
 * The options of a store on a file. `openSqlite` checks them, and rejects with `INVALID_OPTION`,
 * also for an unknown option.
 */
export interface SqliteOptions {
  /**
   * The path of the file, which is created if it is absent. Its folder must exist and be writable:
   * a `-wal` and a `-shm` lie beside the file while it is in use.
   */
  readonly file: string;
  /**
   * The prefix of all keys of this store: names of `A-Z a-z 0-9 . _ ~ -`, separated by `/`.
   * Default `incumbent`.
   */
  readonly namespace?: string | undefined;
  /**
   * How long opening may wait for other processes that lock the file, in ms: 100 to 600,000.
   * Default 5,000.
   */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * True: the file was moved here from another machine, on which nobody uses it any more. Opening
   * removes the leases of that machine's processes. False: opening rejects such a file with
   * `SHARED_FILE`. Default false.
   */
  readonly moved?: boolean | undefined;
  /**
   * Whether the leases of this store end as soon as this process has died, where the system reports
   * it. False: they end only by their ttl, or when somebody revokes them. Use false if the work of
   * a leader can outlive the process, for example in a program that the process started. Default
   * true.
   */
  readonly endsWithProcess?: boolean | undefined;
}

export interface SqliteSettings {
  readonly file: string;
  readonly namespace: string;
  readonly connectTimeoutMs: number;
  readonly moved: boolean;
  readonly endsWithProcess: boolean;
}

/** The parameters of a URL, after `?`. */
const PARAMETERS = ['namespace', 'connectTimeoutMs', 'moved', 'endsWithProcess'];

const known = ['file', ...PARAMETERS];

/**
 * Checks options, or a URL such as `sqlite:/var/lib/app/state.db?namespace=my-app`, and adds
 * defaults.
 */
export function readOptions(input: string | URL | SqliteOptions): SqliteSettings {
  const options = isUrl(input) ? readUrl(urlText(input)) : input;
  if (typeof options !== 'object' || options === null) throw invalidSecret('sqlite', options, 'a URL or an object of options');
  checkKnown('sqlite', options, known);
  return {
    file: resolve(fileOf(options.file)),
    namespace: checkPath('namespace', options.namespace ?? 'incumbent'),
    connectTimeoutMs: checkNumber('connectTimeoutMs', options.connectTimeoutMs, 5_000, { min: 100, max: 600_000 }),
    moved: checkBoolean('moved', options.moved, false),
    endsWithProcess: checkBoolean('endsWithProcess', options.endsWithProcess, true),
  };
}

function fileOf(file: unknown): string {
  if (typeof file !== 'string' || file === '' || file.includes('\0')) throw invalidText('file', file, 'the path of a file');
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(file)) throw invalidText('file', file, 'the path of a file, not a URL');
  // SQLite would open a separate database in every process.
  if (file === ':memory:') throw invalidText('file', file, 'a file on disk; the store "memory:" is in memory');
  return file;
}

/** Reads `sqlite:path` or `sqlite:///absolute/path`, with options after `?`. */
function readUrl(url: string): SqliteOptions {
  const { path, query } = /^sqlite:(?:\/\/(?=\/))?(?<path>[^?#]*)(?:\?(?<query>[^#]*))?$/.exec(url)?.groups ?? {};
  if (path === undefined || path.startsWith('//'))
    throw invalidSecret('url', url, 'sqlite:./file.db or sqlite:/folder/file.db', showUrl(url));
  const parameters = new URLSearchParams(query ?? '');
  const names = [...parameters.keys()];
  for (const [index, name] of names.entries()) {
    // The message does not repeat the name, because it may be a part of a secret.
    if (!PARAMETERS.includes(name)) throw invalidSecret(`url parameter ${index + 1}`, name, `one of ${PARAMETERS.join(', ')}`);
    if (names.indexOf(name) < index) throw invalidSecret(name, parameters.getAll(name), 'given once');
  }
  const [namespace, timeout, moved, endsWithProcess] = PARAMETERS.map((name) => parameters.get(name));
  return {
    file: decoded(path),
    ...(namespace === null || namespace === undefined ? {} : { namespace }),
    ...(timeout === null || timeout === undefined ? {} : { connectTimeoutMs: numberOf('connectTimeoutMs', timeout) }),
    ...(moved === null || moved === undefined ? {} : { moved: booleanOf('moved', moved) }),
    ...(endsWithProcess === null || endsWithProcess === undefined
      ? {}
      : { endsWithProcess: booleanOf('endsWithProcess', endsWithProcess) }),
  };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw invalidText('url', path, 'percent-encoded: a % in a path is %25');
  }
}

function numberOf(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw invalidSecret(name, text, 'a number');
  return Number(text);
}

function booleanOf(name: string, text: string): boolean {
  if (text !== 'true' && text !== 'false') throw invalidSecret(name, text, 'true or false');
  return text === 'true';
}
