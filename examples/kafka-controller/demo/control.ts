/**
 * Carries out the requests of the page's buttons, and sends the brokers the state of their
 * processes.
 */

import type { ClusterView, PageRequest } from '../commands.ts';
import { now } from '../events.ts';
import { nothing } from '../messages.ts';
import { call } from '../wire.ts';
import type { BrokerProcess } from './broker-process.ts';
import { type Cluster, heardOf } from './cluster.ts';
import { refusalCounts } from './history.ts';
import { reigns } from './reigns.ts';
import type { Producers } from './producers.ts';

const TELL_EVERY_MS = 250;
/** How many terms and vacancies the page gets. */
const REIGNS = 60;
/** The zero of the events' clock, in ms since the Unix epoch. */
const EPOCH = Date.now() - now();

export interface ControlOptions {
  readonly cluster: Cluster;
  readonly producers: Producers;
}

export class Control {
  readonly #options: ControlOptions;
  readonly #timer: NodeJS.Timeout;
  #late = 0;

  constructor(options: ControlOptions) {
    this.#options = options;
    options.cluster.asked = (request): void => this.#do(request);
    this.#timer = setInterval(() => this.#tell(), TELL_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#options.cluster.asked = (): void => {};
  }

  /** Ignores what cannot be done. The page shows the state. */
  #do({ action, broker }: PageRequest): void {
    const { cluster, producers } = this.#options;
    const process = cluster.alive.findLast((one) => one.broker === broker);
    switch (action) {
      case 'add':
        return void cluster.start(this.#nextName());
      case 'start':
        return process === undefined && cluster.urls.has(broker) ? void cluster.start(broker) : undefined;
      case 'load':
        return producers.isOn ? void producers.stop() : producers.start();
      case 'kill':
        return process?.kill();
      case 'pause':
        return process?.pause();
      case 'resume':
        return process?.resume();
      case 'cutOff':
      case 'heal':
        return void process?.command({ type: action });
      case 'stopBeforeWrite':
        return void this.#stopBeforeWrite(process);
      case 'handOver':
        return this.#ask('/hand-over', { to: broker });
      default:
        return action satisfies never;
    }
  }

  async #stopBeforeWrite(process: BrokerProcess | undefined): Promise<void> {
    await process?.command({ type: 'stopBefore', moment: 'write' });
    this.#late += 1;
    this.#ask('/create-topic', { topic: `late-${this.#late}`, partitions: 1, replicationFactor: 1 });
  }

  /** Sends a request to the controller. The page shows whether it answers. */
  #ask(path: string, body: unknown): void {
    const { cluster } = this.#options;
    const last = heardOf(cluster.heard, 'elected').at(-1)?.broker ?? '';
    call(cluster.urls.get(last) ?? '', path, body, { reply: nothing, timeoutMs: 2_000 }).catch(() => {});
  }

  #nextName(): string {
    const numbers = this.#options.cluster.lives.map(({ broker }) => Number(broker.split('-').at(-1)));
    return `broker-${Math.max(0, ...numbers) + 1}`;
  }

  #tell(): void {
    const { cluster, producers } = this.#options;
    const load = { on: producers.isOn, acknowledged: producers.acknowledged.length, slowestMs: producers.slowestMs };
    const view: ClusterView = { processes: this.#processes(), load, refused: refusalCounts(cluster.heard), reigns: latestReigns(cluster) };
    for (const process of cluster.alive) if (!process.isPaused) void process.command({ type: 'cluster', cluster: view });
  }

  #processes(): ClusterView['processes'] {
    const { lives, urls } = this.#options.cluster;
    const latest = new Map(lives.map((life) => [life.broker, life]));
    return [...latest.values()].map(({ broker, end, isPaused }) => {
      const state = end !== undefined ? 'ended' : isPaused ? 'paused' : 'running';
      return { broker, url: urls.get(broker) ?? '', state };
    });
  }
}

function latestReigns(cluster: Cluster): ClusterView['reigns'] {
  return reigns(cluster)
    .slice(-REIGNS)
    .map((reign) => ({ ...reign, at: reign.at + EPOCH }));
}
