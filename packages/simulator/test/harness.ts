/** A harness of the conformance package for the simulated store in a world of its own. */

import type { FaultyClient, StoreHarness, UseHarness } from '@incumbent/conformance';
import { Client } from '../src/world/client.ts';
import { SimProcess } from '../src/time/process.ts';
import { SimServer } from '../src/store/server.ts';
import type { StoreShape } from '../src/store/shape.ts';
import { drive } from '../src/time/settle.ts';
import { streamOf } from '../src/time/random.ts';
import { Scheduler } from '../src/time/scheduler.ts';
import { quietStore } from './simulated-client.ts';

const SILENT_MS = 900;
const RETRY_MS = 250;

class Bench {
  readonly scheduler: Scheduler;
  readonly server: SimServer;
  readonly clients: Client[] = [];
  readonly #seed: number;
  readonly process: SimProcess;
  readonly #processes: SimProcess[] = [];

  constructor(seed: number, shape: StoreShape) {
    this.#seed = seed;
    this.scheduler = new Scheduler(streamOf(seed, 'order'));
    this.server = new SimServer(this.scheduler, { shape, random: streamOf(seed, 'store') });
    this.process = this.start();
  }

  start(): SimProcess {
    const random = streamOf(this.#seed, 'process', this.#processes.length);
    const process = new SimProcess('p', this.#processes.length, this.scheduler, { rate: 1, random });
    this.#processes.push(process);
    return process;
  }

  connect(): Client {
    const client = new Client(this.start(), this.server, this.scheduler, streamOf(this.#seed, 'link', this.clients.length));
    this.clients.push(client);
    return client;
  }

  leaks(): readonly string[] {
    const pending = this.#processes.map((process) => process.pending);
    const counts = {
      timers: pending.reduce((sum, { timers }) => sum + timers, 0),
      holds: pending.reduce((sum, { holds }) => sum + holds, 0),
      watches: this.server.watches,
      feeds: this.clients.reduce((sum, { store }) => sum + store.watches, 0),
      leases: this.server.leases.all().length,
    };
    return Object.entries(counts).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : []));
  }
}

export function simHarness(seed: number, shape: Partial<StoreShape> = {}): UseHarness {
  return async (process) => {
    const bench = new Bench(seed, { ...quietStore, ...shape });
    let settled = false;
    const done = process(harnessOf(bench)).finally(() => {
      settled = true;
    });
    done.catch(() => {});
    await drive(() => !settled && bench.scheduler.step(), 'native');
    if (!settled) throw new Error('nothing is scheduled that could settle the case');
    await done;
  };
}

function harnessOf(bench: Bench): StoreHarness {
  const { server } = bench;
  return {
    clock: bench.process,
    ttlMs: 1_000,
    looks: server.shape.looks === true,
    timeoutMs: 400,
    slackMs: 250,
    sharedLeases: true,
    open: async () => bench.connect().store,
    offers: ['cut', 'refuse', 'dropReply', 'dropRequests', 'stall', 'reset', 'silenceWatches'],
    faulty: async () => faultyClient(bench.connect()),
    operator: {
      put: async (key, value) => server.state.force(key, value),
      deleteKey: async (key) => server.state.remove([key], { by: 'operator' }),
      expireLease: async (lease) => void server.endLease(lease, { by: 'operator' }),
    },
    leaks: async () => bench.leaks(),
  };
}

function faultyClient(client: Client): FaultyClient {
  const { link, store } = client;
  let repairs: (() => void)[] = [];
  const begin = (repair: () => void): void => void repairs.push(repair);
  return {
    store,
    noticesWithinMs: SILENT_MS,
    recoversWithinMs: RETRY_MS,
    faults: {
      cut: async () => begin(link.cut('both')),
      refuse: async () => begin(link.refuse()),
      dropNextReply: async () => client.loseReplies(1),
      dropRequests: async () => begin(link.cut('up')),
      stall: async () => begin(link.stall()),
      reset: async () => link.reset(),
      silenceWatches: async () => begin(link.stallWatches({ noticed: true })),
      heal: async () => {
        for (const repair of repairs) repair();
        repairs = [];
      },
    },
  };
}
