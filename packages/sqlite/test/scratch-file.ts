/**
 * A file in a scratch folder, for tests with several processes, and a store of this process on it.
 */

import { join } from 'node:path';
import type { Entry, Store } from '@incumbent/core';
import { openSqlite } from '@incumbent/sqlite';
import { makeScratch, spawnScript, until, type ScriptProcess } from '@incumbent/test-support';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterEach, beforeEach } from 'vitest';

/** How long a test waits for what another process does. */
export const WITHIN_MS = 20_000;
/** So long that no test waits for the end of the lease. */
export const LONG_TTL_MS = 3_600_000;

/** Holds the key `leader`. The script's first comment lists its arguments. */
export const HOLDER: URL = new URL('scripts/holder.ts', import.meta.url);

export class ScratchFile implements AsyncDisposable {
  readonly folder: string;
  readonly path: string;
  readonly #remove: () => Promise<void>;
  readonly #stores: Store[] = [];
  /** All processes that `spawn` has started. */
  readonly processes: ScriptProcess[] = [];

  private constructor(folder: string, remove: () => Promise<void>) {
    this.folder = folder;
    this.path = join(folder, 'state.db');
    this.#remove = remove;
  }

  static async make(name: string): Promise<ScratchFile> {
    const scratch = await makeScratch(name);
    return new ScratchFile(scratch.path, () => scratch.remove());
  }

  /** A store of this process. */
  async open(): Promise<Store> {
    const store = await openSqlite({ file: this.path });
    this.#stores.push(store);
    return store;
  }

  /** Starts a process that runs a script on the file. Ends it with the test. */
  async spawn(script: URL, args: readonly string[], nice?: number): Promise<ScriptProcess> {
    const started = await spawnScript(script, { args: [this.path, ...args], ...(nice === undefined ? {} : { nice }) });
    this.processes.push(started);
    return started;
  }

  /** Starts a process that holds `key`, and waits until it does. */
  async hold(key: string, ttlMs: number, ...more: readonly string[]): Promise<ScriptProcess> {
    const holder = await spawnScript(HOLDER, { args: [this.path, key, String(ttlMs), ...more] });
    await holder.waitFor('holds', { withinMs: WITHIN_MS });
    return holder;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.processes.map((each) => each[Symbol.asyncDispose]()));
    await Promise.all(this.#stores.map((store) => store.close()));
    await this.#remove();
  }
}

/** A scratch file for each test. Returns the file of the current test. */
export function useScratchFile(name: string): () => ScratchFile {
  let file: ScratchFile;
  beforeEach(async () => {
    file = await ScratchFile.make(name);
  });
  afterEach(() => file[Symbol.asyncDispose]());
  return () => file;
}

/** A watch of the key `leader` that has shown the key. */
export async function watchLeader(store: Store): Promise<Recorder<Entry | undefined>> {
  const watch = new Recorder<Entry | undefined>((options) => store.watch('leader', options));
  await until(() => watch.latest !== undefined, { what: 'the key is shown', withinMs: WITHIN_MS });
  return watch;
}

/** Waits until the watch shows that the key is absent. Returns when that was, in ns. */
export async function vanishes(watch: Recorder<Entry | undefined>): Promise<bigint> {
  await until(() => watch.latest === undefined, { what: 'the key is gone', withinMs: WITHIN_MS, everyMs: 1 });
  return process.hrtime.bigint();
}
