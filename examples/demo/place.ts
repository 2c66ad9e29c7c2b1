/** Where the demo keeps its state: the store that was asked for, or a database in a folder of its own. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Place extends AsyncDisposable {
  readonly url: string;
  /** For people: without credentials. */
  readonly description: string;
}

export async function findPlace(url: string | undefined): Promise<Place> {
  return url === undefined
    ? temporaryPlace()
    : { url, description: url.replace(/\/\/[^@/]*@/, '//'), [Symbol.asyncDispose]: async () => {} };
}

async function temporaryPlace(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'incumbent-demo-'));
  return {
    url: `sqlite:${pathToFileURL(join(folder, 'state.db')).pathname}`,
    description: 'SQLite, in a temporary file',
    [Symbol.asyncDispose]: async () => rm(folder, { recursive: true, force: true }),
  };
}
