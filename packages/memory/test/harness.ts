/** Memory, on a manual clock, as the cases of the conformance package want it. */

import type { FaultyClient, StoreHarness, UseHarness } from '@incumbent/conformance';
import type { Store } from '@incumbent/core';
import { ManualClock, MemoryServer, type Latency, type MemoryServerOptions, type MemoryStore } from '@incumbent/memory';

export interface MemoryHarnessOptions {
  readonly server?: MemoryServerOptions;
  readonly latencyMs?: Latency;
  /** What the cases see in place of each client. */
  readonly wrap?: (store: MemoryStore, server: MemoryServer) => Store;
}

/** How long a client puts up with a server that is silent for its watches. */
const SILENCE_MS = 50;

const NAMESPACE = 'case/one';

export function memoryHarness({ server: options, latencyMs = 0, wrap = (store) => store }: MemoryHarnessOptions = {}): UseHarness {
  return async (body) => {
    const clock = new ManualClock();
    const server = new MemoryServer({ minTtlMs: 200, ...options, clock });
    const outage = new Outage();
    const connect = (): MemoryStore => outage.own(server.connect({ namespace: NAMESPACE, latencyMs }));
    const harness: StoreHarness = {
      clock,
      ttlMs: 1_000,
      timeoutMs: 400,
      slackMs: 100,
      sharedLeases: true,
      open: async () => wrap(connect(), server),
      offers: ['cut', 'refuse', 'dropReply', 'dropRequests', 'stall', 'reset', 'silenceWatches'],
      faulty: async () => {
        const store = connect();
        return faultyClient(store, wrap(store, server));
      },
      operator: {
        put: async (key, value) => server.put(`${NAMESPACE}/${key}`, value),
        deleteKey: async (key) => void server.deleteKey(`${NAMESPACE}/${key}`),
        expireLease: async (lease) => void server.expireLease(lease),
      },
      server: outage,
      leaks: async () => leaksOf(clock, server),
    };
    try {
      await clock.run(body(harness));
    } finally {
      await server.close();
    }
  };
}

/** A server that nobody reaches. What it holds it keeps, and its time goes on. */
class Outage {
  readonly #stores: MemoryStore[] = [];
  #isDown = false;

  own(store: MemoryStore): MemoryStore {
    this.#stores.push(store);
    if (this.#isDown) store.link.refuse();
    return store;
  }

  async kill(): Promise<void> {
    this.#isDown = true;
    for (const { link } of this.#stores) link.refuse();
  }

  async restart(): Promise<void> {
    this.#isDown = false;
    for (const { link } of this.#stores) link.heal();
  }
}

function faultyClient({ link }: MemoryStore, store: Store): FaultyClient {
  return {
    store,
    noticesWithinMs: SILENCE_MS,
    recoversWithinMs: 0,
    faults: {
      cut: async () => link.cutOff(),
      refuse: async () => link.refuse(),
      dropNextReply: async () => link.dropReplies(1),
      dropRequests: async () => link.dropRequests(Infinity),
      stall: async () => link.stall(),
      reset: async () => link.reset(),
      silenceWatches: async () => link.stallWatches({ staleAfterMs: SILENCE_MS }),
      heal: async () => link.heal(),
    },
  };
}

function leaksOf(clock: ManualClock, server: MemoryServer): readonly string[] {
  const counts = {
    timers: clock.timers,
    holds: clock.holds,
    watches: server.watches.open,
    clients: server.clients,
    leases: server.leases().length,
  };
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`);
}
