import type { Entry, LeaseOptions, SwapResult } from '@incumbent/core';
import { ManualClock, MemoryServer, type ConnectOptions, type MemoryServerOptions, type MemoryStore } from '@incumbent/memory';

export interface Bench {
  readonly clock: ManualClock;
  readonly server: MemoryServer;
  readonly store: MemoryStore;
}

/** A server on a manual clock, and one client. */
export function bench(options: MemoryServerOptions = {}, link: ConnectOptions = {}): Bench {
  const clock = new ManualClock();
  const server = new MemoryServer({ clock, ...options });
  return { clock, server, store: server.connect(link) };
}

export const call = { timeoutMs: 100 };

export function leaseCall(clock: ManualClock): LeaseOptions {
  return { ...call, at: { monotonicMs: clock.monotonic(), wallMs: clock.wall() } };
}

export function bytes(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

export function text(entry: Entry | undefined): string | undefined {
  return entry && new TextDecoder().decode(entry.value);
}

/** Creates a key. */
export function create(store: MemoryStore, key: string, value = ''): Promise<SwapResult> {
  return store.compareAndSwap([{ key, expect: null, put: bytes(value) }], call);
}

/** What a call rejects with, as far as the contract says: its code and outcome. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error instanceof Error && 'code' in error && 'outcome' in error ? `${String(error.code)} ${String(error.outcome)}` : error;
  }
  return 'succeeded';
}

/** Reads a watch in the background. */
export function follow<T>(watch: AsyncIterable<T>): T[] {
  const states: T[] = [];
  const read = async (): Promise<void> => {
    for await (const state of watch) states.push(state);
  };
  read().catch(() => {});
  return states;
}
