/** Runs the cases of the conformance package on a real Consul. */

import type { FaultyClient, StoreHarness, UseHarness } from '@incumbent/conformance';
import { systemClock, type Store } from '@incumbent/core';
import { connectSocket } from '@incumbent/network';
import type { Consul } from '@incumbent/test-support';
import { type CaseResources, harnessOf, proxyFaults } from '@incumbent/test-support/conformance-harness';

import { openConsul } from '../src/index.ts';
import { Operator } from './operator.ts';

/** The shortest wait that Consul accepts, so that the cases end early. */
const WATCH_WAIT_MS = 1_000;

interface Timing {
  readonly ttlMs: number;
  readonly session: 'check' | 'ttl';
  /** The servers' `session_ttl_min`. Default: the servers' default. */
  readonly minSessionTtlMs?: number;
}

/** Sessions bound to checks, with the ttl of most cases. */
const CHECK: Timing = { ttlMs: 2_000, session: 'check' };

export function consulHarness(consul: () => Consul, timing: Timing = CHECK): UseHarness {
  return harnessOf((resources) => new ConsulCase(consul(), resources, timing).harness());
}

class ConsulCase {
  readonly #consul: Consul;
  readonly #resources: CaseResources;
  readonly #timing: Timing;
  readonly #operator: Operator;

  constructor(consul: Consul, resources: CaseResources, timing: Timing) {
    this.#consul = consul;
    this.#resources = resources;
    this.#timing = timing;
    this.#operator = new Operator(consul.url);
  }

  harness(): StoreHarness {
    const pathOf = (key: string): string => `${this.#resources.namespace}/${key.replaceAll('~', ',')}`;
    return {
      ...this.#resources.common(),
      clock: systemClock,
      ttlMs: this.#timing.ttlMs,
      open: () => this.#open(this.#consul.url),
      faulty: () => this.#faulty(),
      operator: {
        put: (key, value) => this.#operator.put(pathOf(key), value),
        deleteKey: (key) => this.#operator.delete(pathOf(key)),
        expireLease: (lease) => this.#operator.destroySession(lease),
      },
      leaks: async () => [...this.#resources.openSockets(), ...(await this.#leakedChecks())],
    };
  }

  async #open(url: string): Promise<Store> {
    const { ttlMs: _, ...session } = this.#timing;
    const store = await openConsul({
      endpoint: new URL(url).host,
      namespace: this.#resources.namespace,
      watchWaitMs: WATCH_WAIT_MS,
      ...session,
      connect: async (endpoint, signal) => this.#resources.addSocket(await connectSocket(endpoint, {}, signal)),
    });
    return this.#resources.addStore(store);
  }

  async #faulty(): Promise<FaultyClient> {
    const proxy = await this.#resources.startProxy(this.#consul.url);
    return {
      store: await this.#open(proxy.url),
      noticesWithinMs: WATCH_WAIT_MS * (1 + 1 / 16) + 1_500,
      recoversWithinMs: 5_000,
      faults: {
        ...proxyFaults(proxy),
        // A blocking query has its own connection until the server answers it, which may be at any
        // moment.
        silenceWatches: async () => proxy.silence((request) => request.includes('index=')),
      },
    };
  }

  /** Checks of the case's leases that the agent still has. */
  async #leakedChecks(): Promise<readonly string[]> {
    const checks = await this.#operator.checks(`incumbent ${this.#resources.namespace}`);
    return checks > 0 ? [`${checks} checks`] : [];
  }
}
