/** The parts of a conformance harness that are the same for every store behind TCP. */

import { connect, type Socket } from 'node:net';

import { startProxy, type Proxy } from './proxy.ts';
import { clusterFaults, type ClusterFaults } from './servers/cluster-faults.ts';
import { uniqueNamespace } from './servers/namespace.ts';
import type { Cluster } from './servers/types.ts';

/**
 * Creates a harness, runs `body` with it, and frees the harness's resources whether or not the body
 * succeeds.
 */
export type UseHarness<H> = (body: (harness: H) => Promise<void>) => Promise<void>;

/** The faults are those of {@link proxyFaults}, and `silenceWatches`. */
const COMMON = {
  ttlMs: 2_000,
  timeoutMs: 2_000,
  slackMs: 1_500,
  offers: ['cut', 'refuse', 'dropReply', 'dropRequests', 'stall', 'reset', 'silenceWatches'] as const,
};

interface Closeable {
  close(): Promise<void>;
}

/** Opens a socket that does not keep the process alive. */
export function openSocket(url: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    socket.unref();
    socket.once('connect', () => resolve(socket)).once('error', reject);
  });
}

/** Makes the harness of each case from the resources of that case. */
export function harnessOf<H>(make: (resources: CaseResources) => H): UseHarness<H> {
  return async (body) => {
    await using resources = new CaseResources();
    await body(make(resources));
  };
}

/**
 * The resources of one case: a namespace, and the stores, proxies and sockets that are closed with
 * the case.
 */
export class CaseResources implements AsyncDisposable {
  readonly namespace: string = uniqueNamespace('case');
  readonly #stores: Closeable[] = [];
  readonly #closing: (() => Promise<unknown>)[] = [];
  readonly #sockets: Socket[] = [];

  /** The parts of a harness that most stores behind a proxy have in common. */
  common() {
    return { ...COMMON, leaks: async () => this.openSockets() };
  }

  addStore<S extends Closeable>(store: S): S {
    this.#stores.push(store);
    return store;
  }

  addSocket(socket: Socket): Socket {
    this.#sockets.push(socket);
    return socket;
  }

  /** Starts a proxy in front of the server with this URL. */
  async startProxy(url: string): Promise<Proxy> {
    const proxy = await startProxy(url);
    this.afterStores(() => proxy.close());
    return proxy;
  }

  /** Calls `close` at the end of the case, after all stores were closed. */
  afterStores(close: () => Promise<unknown>): void {
    this.#closing.push(close);
  }

  /** The sockets that are still open, as a line for `leaks` of a harness. */
  openSockets(): readonly string[] {
    const count = this.#sockets.filter((socket) => !socket.destroyed).length;
    return count > 0 ? [`${count} sockets`] : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    await Promise.all(this.#closing.map((close) => close()));
  }
}

/**
 * The faults of a link that goes through a proxy, except `silenceWatches`, which depends on the
 * store's protocol.
 */
export function proxyFaults(proxy: Proxy) {
  return {
    cut: async () => proxy.blackhole(),
    refuse: async () => {
      proxy.refuse();
      proxy.reset();
    },
    dropNextReply: async () => void proxy.dropNextReply(),
    dropRequests: async () => proxy.dropRequests(),
    stall: async () => proxy.stall(),
    reset: async () => proxy.reset(),
    heal: () => proxy.heal(),
  };
}

/** Gives each case a server of its own, which the case may kill. */
export function withOwnServer<S extends AsyncDisposable, H extends object>(
  start: () => Promise<S>,
  harnessOn: (server: () => S) => UseHarness<H>,
): UseHarness<H & { readonly server: S }> {
  return async (body) => {
    await using server = await start();
    await harnessOn(() => server)((harness) => body({ ...harness, server }));
  };
}

/**
 * Adds the faults of a cluster's servers to a harness, and restores the servers after each case.
 */
export function withClusterFaults<H extends object>(
  cluster: () => Pick<Cluster, 'servers' | 'leader'>,
  useHarness: UseHarness<H>,
): UseHarness<H & { readonly cluster: ClusterFaults }> {
  return (body) =>
    useHarness(async (harness) => {
      const faults = clusterFaults(cluster());
      try {
        await body({ ...harness, cluster: faults });
      } finally {
        await faults.restore();
      }
    });
}
