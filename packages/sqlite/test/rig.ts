/**
 * A file in its own folder, and stores on it. The hosts share a clock that stands still until the
 * test moves it.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';

import type { LeaseOptions, TimedCall } from '@incumbent/core';

import { afterEach, beforeEach, vi } from 'vitest';

import type { Connect } from '../src/schema/connection.ts';
import type { Host } from '../src/host/host.ts';
import { openOn } from '../src/open.ts';
import { readOptions, type SqliteOptions } from '../src/options.ts';
import type { SqliteStore } from '../src/store.ts';

/** Long, for a busy machine. */
export const CALL: TimedCall = { timeoutMs: 20_000 };
export const LEASE_CALL: TimedCall<LeaseOptions> = { ...CALL, at: { monotonicMs: 0, wallMs: 0 } };

export const connectFile: Connect = (path) => new DatabaseSync(path);

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function textOf(entry: { readonly value: Uint8Array } | undefined): string | undefined {
  return entry && new TextDecoder().decode(entry.value);
}

/** What identifies a host. */
export type Identity = Omit<Host, 'nowUs'>;

export interface RigOptions extends Partial<SqliteOptions> {
  readonly host?: Host;
  readonly connect?: Connect;
}

export class Rig implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'incumbent-sqlite-'));
  readonly file: string = join(this.folder, 'state.db');
  /** The clock of the hosts, in microseconds. */
  nowUs = 1e12;
  /** How far each reading of the clock moves it. */
  readAdvancesUs = 0;
  readonly #stores: SqliteStore[] = [];
  readonly #databases: DatabaseSync[] = [];

  /** A host on the rig's clock. */
  host(identity: Partial<Identity> = {}): Host {
    return { machine: 'machine one', boot: 'boot one', ...identity, nowUs: () => this.#readClock() };
  }

  pass(ms: number): void {
    this.nowUs += ms * 1e3;
  }

  #readClock(): number {
    const { nowUs } = this;
    this.nowUs += this.readAdvancesUs;
    return nowUs;
  }

  async open({ host = this.host(), connect = connectFile, ...options }: RigOptions = {}): Promise<SqliteStore> {
    const store = await openOn(connect, host, readOptions({ file: this.file, ...options }));
    this.#stores.push(store);
    return store;
  }

  /** A connection of another program. */
  raw(file: string = this.file): DatabaseSync {
    const database = new DatabaseSync(file);
    this.#databases.push(database);
    return database;
  }

  /** The first column of the first row that a query returns. */
  ask(sql: string, ...parameters: readonly SQLInputValue[]): unknown {
    const database = new DatabaseSync(this.file);
    try {
      return Object.values(database.prepare(sql).get(...parameters) ?? {})[0];
    } finally {
      database.close();
    }
  }

  /** The paths of the file, its log and the index of the log. */
  get files(): readonly string[] {
    return ['', '-wal', '-shm'].map((end) => this.file + end);
  }

  [Symbol.dispose](): void {
    for (const database of this.#databases) if (database.isOpen) database.close();
    for (const store of this.#stores) void store.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A rig for each test of the file. Returns the rig of the current test. */
export function useRig(): () => Rig {
  let rig: Rig;
  beforeEach(() => {
    rig = new Rig();
  });
  afterEach(() => {
    vi.useRealTimers();
    rig[Symbol.dispose]();
  });
  return () => rig;
}
