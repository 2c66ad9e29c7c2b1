/**
 * A process that opens a store and then has nothing to do. A store's own script uses it. Arguments:
 * the store's URL, and what it leaves behind.
 */

import { createHook } from 'node:async_hooks';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

import { emit } from '../child.ts';

interface Call {
  readonly timeoutMs: number;
}

/** The part of a store that is used. */
export interface LivingStore {
  grantLease(
    ttlMs: number,
    options: Call & { readonly at: { readonly monotonicMs: number; readonly wallMs: number } },
  ): Promise<{ readonly id: string }>;
  revokeLease(lease: string, options: Call): Promise<void>;
  read(key: string, options: Call): Promise<unknown>;
  watch(
    key: string,
    options: { readonly signal: AbortSignal; readonly onStale: (cause: { readonly code: string }) => void },
  ): AsyncIterable<unknown>;
  close(): Promise<void>;
}

/** What a process does with an open store before it has nothing to do. */
export type Modes<S> = Readonly<Record<string, (store: S) => Promise<void> | void>>;

export interface LiveOptions<S> {
  /**
   * The kinds of resources to look for, by their names in `async_hooks`. Default: timers and
   * sockets.
   */
  readonly resources?: RegExp;
  /** Additional modes, or replacements. */
  readonly modes?: Modes<S>;
}

export const CALL: Call = { timeoutMs: 1_000 };
/** A ttl that every store grants, and that outlives the process. */
export const TTL_MS = 10_000;
export const LEASE_CALL = { ...CALL, at: { monotonicMs: 0, wallMs: 0 } };

/** Reports every state of a watch that never ends by itself. Resolves when the watch is stale. */
export function follow(store: LivingStore): Promise<void> {
  const stale = Promise.withResolvers<void>();
  const onStale = ({ code }: { readonly code: string }): void => {
    emit('stale', { code });
    stale.resolve();
  };
  const states = store.watch('a', { signal: new AbortController().signal, onStale });
  const reading = async (): Promise<void> => {
    for await (const state of states) emit('state', { state: String(state) });
  };
  reading().catch((error: unknown) => emit('threw', { error: String(error) }));
  return stale.promise;
}

/**
 * How long a process that has nothing to do may live, in ms. Longer than the calls and pauses of a
 * store.
 */
const IDLE_MS = 5_000;

/**
 * Reports `outlived` if the process still lives after {@link IDLE_MS}. The timer does not keep the
 * process alive. So a process that has nothing left to do never reports this, however slow the
 * machine is.
 */
function expectEnd(): void {
  setTimeout(() => emit('outlived'), IDLE_MS).unref();
}

async function held<T>(task: Promise<T>): Promise<T> {
  const waiting = setInterval(() => {}, 1_000);
  const result = await task;
  clearInterval(waiting);
  return result;
}

const common: Modes<LivingStore> = {
  idle: async (store) => void (await store.grantLease(TTL_MS, LEASE_CALL)),
  watches: (store) => {
    void follow(store);
    return sleep(200);
  },
  /** Calls, until one is never answered, because the link is cut meanwhile. */
  call: async (store) => {
    try {
      for (;;) {
        await store.read('a', CALL);
        await sleep(20);
      }
    } catch (error) {
      emit('failed', { error: String(error) });
    }
  },
  /** Watches whose server is gone, and which keep trying to reach it. */
  orphaned: (store) => held(follow(store)),
  closed: async (store) => {
    void follow(store);
    const lease = await store.grantLease(TTL_MS, LEASE_CALL);
    await store.revokeLease(lease.id, CALL);
    const late = store.read('a', { timeoutMs: 60_000 }).catch(() => {});
    await store.close();
    await late;
  },
};

/**
 * Opens the store and carries out the mode. Then reports the resources that were created since:
 * `left`, whether or not they keep the process alive.
 */
export async function live<S extends LivingStore>(open: (url: string) => Promise<S>, options: LiveOptions<S> = {}): Promise<void> {
  const [url = '', mode = ''] = process.argv.slice(2);
  const { resources = /^(Timeout|TCPWRAP|TLSWRAP)$/, modes = {} } = options;
  const alive = new Map<number, string>();
  createHook({
    init: (id, type) => {
      if (resources.test(type)) alive.set(id, type);
    },
    destroy: (id) => void alive.delete(id),
  }).enable();
  process.on('unhandledRejection', (error) => emit('unhandled', { error: String(error) }));
  process.on('warning', (warning) => emit('warning', { warning: String(warning) }));
  const act = modes[mode] ?? common[mode];
  if (act === undefined) throw new Error(`no such mode: ${mode}`);
  const store = await open(url);
  emit('open');
  await act(store);
  // Let everything that has ended be cleaned up, including this wait.
  await sleep(50);
  await setImmediate();
  emit('done', { left: [...alive.values()] });
  expectEnd();
}
