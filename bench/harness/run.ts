/** The input and the results of a scenario. */

import type { Spread } from './spread.ts';
import type { Contestant } from './contestants.ts';
import { contestants } from './contestants.ts';
import { Driver } from './driver.ts';
import { freshNamespace, type Stage, type StoreName } from './stage.ts';

export interface RunOptions {
  /** A few repetitions of everything, to check that it works. */
  readonly quick: boolean;
  /** Whether to use the packages as they would be published instead of their sources. */
  readonly built: boolean;
  readonly stores: readonly StoreName[];
  /** The largest number of candidates, elections or observers at a time. */
  readonly most: number;
}

/** One bar of a chart. */
export interface Bar {
  readonly label: string;
  readonly kind: Contestant['kind'];
  readonly spread: Spread;
}

export interface Chart {
  /** The name of its file. */
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly groups: readonly { readonly title: string; readonly bars: readonly Bar[] }[];
}

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Target {
  readonly what: string;
  readonly wanted: string;
  readonly measured: string;
  /** Undefined if the contestant to compare with was not available. */
  readonly met: boolean | undefined;
}

export interface Section {
  readonly title: string;
  /** How it was measured. */
  readonly method: string;
  readonly tables: readonly { readonly title?: string; readonly table: Table }[];
  readonly charts: readonly Chart[];
  readonly targets: readonly Target[];
}

export interface Bench {
  readonly options: RunOptions;
  /** The one server of a store, until it is left. */
  stage(store: StoreName): Promise<Stage>;
  /** Stops the store's server, which has had a high load. The next scenario gets a new one. */
  leave(store: StoreName): Promise<void>;
  /** The available contestants of a store. */
  contestants(store: StoreName): Promise<readonly Contestant[]>;
  /** Leaves a contestant out, and names it in the results. */
  drop(contestant: Contestant, error: unknown): void;
  /** Starts one candidate's process. */
  start(contestant: Contestant, options?: StartOptions): Promise<Driver>;
}

export interface StartOptions {
  readonly namespace?: string;
  readonly ttlMs?: number;
  /** The URL of the server or of a proxy in front of it. */
  readonly url?: string;
}

export interface Scenario {
  readonly name: string;
  run(bench: Bench): Promise<Section>;
}

const TTL_MS = 10_000;

export class OpenBench implements Bench, AsyncDisposable {
  readonly options: RunOptions;
  /** The contestants that were not available, and the reasons. */
  readonly missing = new Map<string, string>();
  readonly #open: (store: StoreName) => Promise<Stage>;
  readonly #stages = new Map<StoreName, Promise<Stage>>();
  readonly #versions = new Map<StoreName, string>();

  constructor(options: RunOptions, open: (store: StoreName) => Promise<Stage>) {
    this.options = options;
    this.#open = open;
  }

  async stage(store: StoreName): Promise<Stage> {
    const opened = this.#stages.get(store) ?? this.#open(store);
    this.#stages.set(store, opened);
    const stage = await opened;
    this.#versions.set(store, stage.version);
    return stage;
  }

  async leave(store: StoreName): Promise<void> {
    const opened = this.#stages.get(store);
    this.#stages.delete(store);
    await (await opened)?.[Symbol.asyncDispose]();
  }

  /** The versions of the stores that were used. */
  versions(): readonly string[] {
    return [...this.#versions.values()];
  }

  async contestants(store: StoreName): Promise<readonly Contestant[]> {
    const found: Contestant[] = [];
    for (const contestant of contestants.filter((other) => other.store === store)) {
      try {
        await contestant.program(this.options);
        found.push(contestant);
      } catch (error) {
        this.drop(contestant, error);
      }
    }
    return found;
  }

  drop({ name, store }: Contestant, error: unknown): void {
    this.missing.set(`${name} (${store})`, String(error).split('\n').slice(0, 2).join(': '));
  }

  async start(contestant: Contestant, { namespace = freshNamespace(), ttlMs = TTL_MS, url }: StartOptions = {}): Promise<Driver> {
    const stage = await this.stage(contestant.store);
    const { args, ...program } = await contestant.program(this.options);
    const address = contestant.address(stage, namespace, url ?? stage.url);
    const told = ['--url', address, '--namespace', namespace, '--ttl', String(ttlMs), '--mode', contestant.mode];
    return new Driver({ ...program, args: [...args, ...told] });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stage of await Promise.allSettled(this.#stages.values())) {
      // If a server could not be started, its contestants are missing. There is nothing to stop.
      if (stage.status === 'fulfilled') await stage.value[Symbol.asyncDispose]();
    }
  }
}
