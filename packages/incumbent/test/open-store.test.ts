/** The pauses between two attempts take no time here. */

import { type Logger, type Store, StoreError } from '@incumbent/core';
import { type MemoryStore, openMemory } from '@incumbent/memory';
import { beforeEach, describe, expect, it, vi } from 'vitest';

import { ElectionHost } from '../src/host.ts';
import { lead, openStore, type StoreOpener } from '../src/index.ts';

vi.mock('node:timers/promises', () => ({ setTimeout: async () => {} }));

let opened: MemoryStore[];
let tries = 0;
beforeEach(() => {
  opened = [];
  tries = 0;
});

/** Fails with the errors, one in each attempt, then opens a store. */
function opener(...errors: readonly Error[]): StoreOpener {
  return async () => {
    const error = errors[tries];
    tries += 1;
    if (error !== undefined) throw error;
    const store = await openMemory();
    opened.push(store);
    return store;
  };
}

const away = new StoreError('UNREACHABLE', 'notSent', 'the store is away');

async function isClosed(store: Store | undefined): Promise<boolean> {
  return (
    store === undefined ||
    store.read('key', { timeoutMs: 1_000 }).then(
      () => false,
      () => true,
    )
  );
}

describe('a store that a function opens', () => {
  it('is tried again while it cannot be reached, for as long as waitMs says', async () => {
    const retried: unknown[] = [];
    const store = await openStore(opener(away, away), { waitMs: Infinity, onRetry: (error) => retried.push(error) });
    expect([tries, retried, store]).toEqual([3, [away, away], opened[0]]);
    await store.close();
    await expect(openStore(opener(away, away, away, away))).rejects.toBe(away);
  });

  it('is not tried again after an error that another attempt would meet, too', async () => {
    const denied = new StoreError('PERMISSION_DENIED', 'refused', 'no');
    await expect(openStore(opener(denied), { waitMs: Infinity })).rejects.toBe(denied);
    expect(tries).toBe(1);
  });

  it('must be an open store', async () => {
    await expect(Reflect.apply(openStore, undefined, [() => 'redis://:secret@host'])).rejects.toThrow(
      /^store is a string of 20 characters: it must be an open store/,
    );
  });

  it('is closed by a host, which waits for it by default', async () => {
    const host = await ElectionHost.open({ store: opener(away), onFailure: () => {} });
    expect([tries, host.store, await isClosed(host.store)]).toEqual([2, opened[0], false]);
    await host.close();
    expect(await isClosed(host.store)).toBe(true);
    const refused = ElectionHost.open({ store: opener(), member: { ttlMs: -1 }, onFailure: () => {} });
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    expect([opened.length, await isClosed(opened[1])]).toEqual([2, true]);
  });

  it('is waited for by a host, which logs the first failure, and calls `onRetry` until `signal` aborts', async () => {
    const stop = new AbortController();
    const retried: unknown[] = [];
    const onRetry = (error: unknown): void => {
      retried.push(error);
      if (retried.length === 2) stop.abort(new Error('enough'));
    };
    const log = vi.fn<Logger['warn']>().mockImplementation(() => {
      throw new Error('a log that fails changes nothing');
    });
    const member = { logger: { debug: log, info: log, warn: log, error: log } };
    const opening = ElectionHost.open({ store: opener(away, away, away), member, signal: stop.signal, onRetry, onFailure: () => {} });
    await expect(opening).rejects.toThrow('enough');
    expect(retried).toEqual([away, away]);
    expect(log.mock.calls).toEqual([[{ event: 'waitingForStore', err: away }, 'waits for the store']]);
  });

  it('is closed by lead', async () => {
    expect(await lead(opener(away), 'jobs', ({ term }) => term, { waitMs: Infinity, stopOn: [] })).toBe(1n);
    expect([tries, opened.length, await isClosed(opened[0])]).toEqual([2, 1, true]);
  });
});
