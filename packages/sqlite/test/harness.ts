/**
 * A file, as the cases of the conformance package want it: its faults are those of a disk, and of
 * other processes that keep it locked.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import type { FaultyClient, StoreHarness, UseHarness } from '@incumbent/conformance';
import { systemClock, type Store } from '@incumbent/core';

import { readHost } from '../src/host/host.ts';
import { openOn } from '../src/open.ts';
import { readOptions } from '../src/options.ts';
import { FaultyDisk } from './faulty-disk.ts';

export const sqliteHarness: UseHarness = async (body) => {
  const one = new OneCase();
  try {
    await body(one.harness());
  } finally {
    await one.end();
  }
};

class OneCase {
  readonly #folder = mkdtempSync(join(tmpdir(), 'incumbent-sqlite-'));
  readonly #file = join(this.#folder, 'state.db');
  readonly #disks: FaultyDisk[] = [];
  readonly #stores: Store[] = [];

  harness(): StoreHarness {
    return {
      clock: systemClock,
      ttlMs: 1_000,
      timeoutMs: 2_000,
      slackMs: 1_000,
      open: async () => this.#open(new FaultyDisk()),
      wire: false,
      offers: ['cut', 'refuse', 'dropReply', 'dropRequests', 'stall', 'reset'],
      impossible: {
        silenceWatches: 'there is no server: a watch reads the file by the same connection as calls do',
      },
      faulty: () => this.#faulty(),
      operator: {
        put: async (key, value) => {
          this.#operate('UPDATE store SET revision = revision + 1', []);
          this.#operate(
            `INSERT INTO keys (key, value, revision, created) SELECT ?, ?, revision, revision FROM store WHERE true
             ON CONFLICT (key) DO UPDATE SET value = excluded.value, revision = excluded.revision, lease = NULL`,
            [`incumbent/${key}`, value],
          );
        },
        deleteKey: async (key) => this.#operate('DELETE FROM keys WHERE key = ?', [`incumbent/${key}`]),
        expireLease: async (lease) => this.#operate('DELETE FROM leases WHERE id = ?', [lease]),
      },
      // The volume is gone, for everybody; what was on it is there again.
      server: {
        kill: async () => this.#all((disk) => disk.fail()),
        restart: async () => this.#all((disk) => disk.heal()),
      },
      leaks: async () => this.#disks.flatMap((disk) => (disk.open > 0 ? [`${disk.open} connections`] : [])),
    };
  }

  #all(task: (disk: FaultyDisk) => void): void {
    for (const disk of this.#disks) task(disk);
  }

  async end(): Promise<void> {
    this.#all((disk) => disk.heal());
    await Promise.all(this.#stores.map((store) => store.close()));
    rmSync(this.#folder, { recursive: true });
  }

  async #open(disk: FaultyDisk): Promise<Store> {
    this.#disks.push(disk);
    const store = await openOn((path) => disk.connect(path), readHost(), readOptions({ file: this.#file }));
    this.#stores.push(store);
    return store;
  }

  async #faulty(): Promise<FaultyClient> {
    const disk = new FaultyDisk();
    return {
      store: await this.#open(disk),
      noticesWithinMs: 1_200,
      recoversWithinMs: 500,
      faults: {
        cut: async () => disk.lock(),
        refuse: async () => disk.fail(),
        dropNextReply: async () => disk.failNextCommit(),
        dropRequests: async () => disk.lock(),
        stall: async () => disk.lock(),
        reset: async () => disk.failOnce(),
        silenceWatches: () => Promise.reject(new Error('not offered')),
        heal: async () => disk.heal(),
      },
    };
  }

  /** As somebody with the `sqlite3` shell would. */
  #operate(sql: string, parameters: readonly (string | Uint8Array)[]): void {
    const database = new DatabaseSync(this.#file);
    database.exec('PRAGMA busy_timeout = 1000');
    database.prepare(sql).run(...parameters);
    database.close();
  }
}
