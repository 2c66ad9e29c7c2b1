/**
 * The state of a run: a folder for the brokers' messages, and the requested store or a database in
 * that folder.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface DemoStore extends AsyncDisposable {
  /** The URL of the store. */
  readonly url: string;
  readonly folder: string;
  /** The store's description for people, without credentials. */
  readonly description: string;
}

export async function findStore(url: string | undefined): Promise<DemoStore> {
  const folder = await mkdtemp(join(tmpdir(), 'incumbent-demo-'));
  const database = `sqlite:${pathToFileURL(join(folder, 'state.db')).pathname}`;
  return {
    url: url ?? database,
    folder,
    description: url?.replace(/\/\/[^@/]*@/, '//') ?? 'SQLite, in a temporary file',
    [Symbol.asyncDispose]: async () => rm(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}
