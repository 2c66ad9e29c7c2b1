/** What the findings of the review are shown with: hosts and connections that a test holds in its hands. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { systemClock, type LeaseOptions } from '@incumbent/core';

import type { Connect, Connection } from '../../src/schema/connection.ts';
import { readHost, type Host } from '../../src/host/host.ts';
import { openOn } from '../../src/open.ts';
import { readOptions } from '../../src/options.ts';
import type { SqliteStore } from '../../src/store.ts';

/** Long, for a busy machine. */
export const inTime = { timeoutMs: 20_000 };

export function now(): LeaseOptions {
  return { at: { monotonicMs: systemClock.monotonic(), wallMs: systemClock.wall() }, ...inTime };
}

export const plain: Connect = (path) => new DatabaseSync(path);

/** As node:sqlite, but that a test may step in before any statement. */
export function watched(before: (sql: string) => void): Connect {
  return (path) => {
    const database = new DatabaseSync(path);
    const connection: Connection = {
      exec: (sql) => {
        before(sql);
        database.exec(sql);
      },
      prepare: (sql) => {
        const statement = database.prepare(sql);
        return {
          get: (parameters) => {
            before(sql);
            return statement.get(parameters);
          },
          all: (parameters) => {
            before(sql);
            return statement.all(parameters);
          },
          run: (parameters) => {
            before(sql);
            return statement.run(parameters);
          },
        };
      },
      close: () => database.close(),
    };
    return connection;
  };
}

export class World implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'incumbent-review-'));
  readonly file: string = join(this.folder, 'state.db');
  readonly #stores: SqliteStore[] = [];

  async open(host: Host = readHost(), connect: Connect = plain): Promise<SqliteStore> {
    const store = await openOn(connect, host, readOptions({ file: this.file }));
    this.#stores.push(store);
    return store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    rmSync(this.folder, { recursive: true });
  }
}
