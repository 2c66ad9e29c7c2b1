/** What a store is opened with, checked: a URL or an object, turned into settings. */

import { resolve } from 'node:path';

import { checkKnown, checkNumber, checkPath, invalidOption, invalidSecret, invalidText, showUrl } from '@incumbent/core/adapter';

export interface SqliteOptions {
  /** The database: made if it is absent, in a folder that is there. A `-wal` and a `-shm` lie beside it while it is in use. */
  readonly file: string;
  /** What all keys of this store stand under: names of `A-Z a-z 0-9 . _ ~ -`, separated by `/`. Default `incumbent`. */
  readonly namespace?: string;
  /** How long opening may wait for others that hold the file, in ms: 100 to 600,000. Default 5,000. */
  readonly connectTimeoutMs?: number;
  /**
   * Says that the file was moved here from another machine, on which nobody uses it any more: what that machine's processes left in it is
   * removed. Without it such a file is refused (`SHARED_FILE`). Default false.
   */
  readonly moved?: boolean;
  /**
   * Whether a lease of this store ends as soon as this process has died, where the system can tell. False where what is done by virtue of it may outlive the
   * process, as a program that it started does: then only the ttl ends it, or whoever has seen to that program. Default true.
   */
  readonly endsWithProcess?: boolean;
}

export interface SqliteSettings {
  readonly file: string;
  readonly namespace: string;
  readonly connectTimeoutMs: number;
  readonly moved: boolean;
  readonly endsWithProcess: boolean;
}

/** Those of a URL, after `?`. */
const PARAMETERS = ['namespace', 'connectTimeoutMs', 'moved', 'endsWithProcess'];

const known = ['file', ...PARAMETERS];

/** `sqlite:./state.db`, `sqlite:/var/lib/app/state.db?namespace=my-app`, or options. */
export function readOptions(input: string | SqliteOptions): SqliteSettings {
  const options = typeof input === 'string' ? readUrl(input) : input;
  if (typeof options !== 'object' || options === null) throw invalidSecret('sqlite', options, 'a URL or an object of options');
  checkKnown('sqlite', options, known);
  const { moved = false, endsWithProcess = true } = options;
  for (const [name, value] of Object.entries({ moved, endsWithProcess })) {
    if (typeof value !== 'boolean') throw invalidOption(name, value, 'true or false');
  }
  return {
    file: resolve(fileOf(options.file)),
    namespace: checkPath('namespace', options.namespace ?? 'incumbent'),
    connectTimeoutMs: checkNumber('connectTimeoutMs', options.connectTimeoutMs, 5_000, { min: 100, max: 600_000 }),
    moved,
    endsWithProcess,
  };
}

function fileOf(file: unknown): string {
  if (typeof file !== 'string' || file === '' || file.includes('\0')) throw invalidText('file', file, 'the path of a file');
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(file)) throw invalidText('file', file, 'the path of a file, not a URL');
  // It would be another one in every process.
  if (file === ':memory:') throw invalidText('file', file, 'a file on disk; the store "memory:" is in memory');
  return file;
}

/** `sqlite:path` and `sqlite:///absolute/path`; what follows `?` are options. */
function readUrl(url: string): SqliteOptions {
  const { path, query } = /^sqlite:(?:\/\/(?=\/))?(?<path>[^?#]*)(?:\?(?<query>[^#]*))?$/.exec(url)?.groups ?? {};
  if (path === undefined || path.startsWith('//'))
    throw invalidSecret('url', url, 'sqlite:./file.db or sqlite:/folder/file.db', showUrl(url));
  const parameters = new URLSearchParams(query ?? '');
  for (const [index, name] of [...parameters.keys()].entries()) {
    // The name too may be a part of a secret.
    if (!PARAMETERS.includes(name)) throw invalidSecret(`url parameter ${index + 1}`, name, `one of ${PARAMETERS.join(', ')}`);
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
