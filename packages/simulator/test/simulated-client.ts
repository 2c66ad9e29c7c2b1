/** The setup that several tests share. */

import type { CallOptions, Moment } from '@incumbent/core';
import { Client } from '../src/world/client.ts';
import { SimProcess } from '../src/time/process.ts';
import { SimServer } from '../src/store/server.ts';
import type { StoreShape } from '../src/store/shape.ts';
import { drive } from '../src/time/settle.ts';
import { streamOf } from '../src/time/random.ts';
import { Scheduler } from '../src/time/scheduler.ts';

/** A store without delays and special properties. */
export const quietStore: StoreShape = {
  assignableLease: true,
  revisionsSurviveDeletion: true,
  expiryLateMs: 0,
  rate: 1,
  acknowledges: 'renewal',
  latency: { minMs: 1, maxMs: 3 },
  watchLagMs: 0,
  repeatRatio: 0,
};

export const TTL_MS = 1_000;
export const call: CallOptions = { timeoutMs: 400 };

/** One client of a simulated store. */
export class Bench {
  readonly scheduler: Scheduler;
  readonly server: SimServer;
  readonly process: SimProcess;
  readonly client: Client;

  constructor(shape: Partial<StoreShape> = {}, seed = 1) {
    this.scheduler = new Scheduler(streamOf(seed, 'order'));
    this.server = new SimServer(this.scheduler, { shape: { ...quietStore, ...shape }, random: streamOf(seed, 'store') });
    this.process = new SimProcess('p', 1, this.scheduler, { rate: 1, random: streamOf(seed, 'process') });
    this.client = new Client(this.process, this.server, this.scheduler, streamOf(seed, 'link'));
  }

  get store(): Client['store'] {
    return this.client.store;
  }

  at(): Moment {
    return { monotonicMs: this.process.monotonic(), wallMs: this.process.wall() };
  }

  /** Lets time pass until the promise settles, and settles as it does. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const done = (): void => {
      settled = true;
    };
    promise.then(done, done);
    await drive(() => !settled && this.scheduler.step(), 'native');
    return promise;
  }

  async pass(ms: number): Promise<void> {
    await this.run(new Promise<void>((resolve) => void this.scheduler.after(ms, resolve)));
  }

  async grant(): Promise<string> {
    return (await this.run(this.store.grantLease(TTL_MS, { ...call, at: this.at() }))).id;
  }

  get leases(): number {
    return this.server.leases.all().length;
  }
}
