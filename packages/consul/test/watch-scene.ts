/** Watches on an agent in this process. */

import type { Cancel, Entry, Store, StoreError } from '@incumbent/core';
import { ManualClock } from '@incumbent/memory';
import { until } from '@incumbent/test-support';

import type { ConsulOptions } from '../src/index.ts';
import { openOnFakeAgent, opens, type FakeConsul, type FakeRequest, type FakeResponse } from './fake-agent.ts';

export interface Scene extends FakeConsul {
  /** The requests of watches: consistent reads, and the indexes that queries waited behind. */
  queries(): readonly string[];
}

export async function scene(options: Partial<ConsulOptions> = {}): Promise<Scene> {
  const opened = await openOnFakeAgent(opens, options);
  const queries = (): readonly string[] =>
    opened.requests().map(({ query }) => (query.has('consistent') ? 'now' : `after ${query.get('index')}`));
  return { ...opened, queries };
}

/** Sends these responses in turn, and none after the last. */
export function inTurn(...answers: readonly (FakeResponse | 'reset')[]): (asked: FakeRequest) => FakeResponse | 'reset' | undefined {
  const left = [...answers];
  return () => left.shift();
}

export class RecordingClock extends ManualClock {
  /** The delays of all timers so far. */
  readonly delaysMs: number[] = [];

  override schedule(delayMs: number, task: () => void): Cancel {
    this.delaysMs.push(delayMs);
    return super.schedule(delayMs, task);
  }
}

export class Watched {
  readonly seen: (string | undefined)[] = [];
  readonly stale: StoreError[] = [];
  error: unknown;

  constructor(store: Store, key: string) {
    const { signal } = new AbortController();
    const watch = store.watch(key, { signal, onStale: (cause) => this.stale.push(cause) });
    void this.#consume(watch).catch((error: unknown) => {
      this.error = error;
    });
  }

  async #consume(watch: AsyncIterable<Entry | undefined>): Promise<void> {
    for await (const entry of watch) this.seen.push(entry?.revision);
  }
}

export function eventually(what: string, holds: () => boolean): Promise<true> {
  return until(() => holds() || undefined, { what });
}
