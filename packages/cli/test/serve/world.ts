/** Sidecars on one simulated store and clock. */

import { TestCluster, type TestClusterOptions } from '@incumbent/memory';

import type { Candidacy, CandidacySettings } from '../../src/serve/candidacy.ts';
import type { CandidacyEvent } from '../../src/serve/documents.ts';
import { Sidecar, type SidecarOptions } from '../../src/serve/sidecar.ts';

export const TTL_MS = 10_000;
export const DRAIN_MS = 2_000;

/** A candidacy with the events that its first stream has shown. */
export interface Client {
  readonly candidacy: Candidacy;
  readonly events: CandidacyEvent[];
  /** Closes the stream. */
  readonly disconnect: () => void;
}

export class SidecarWorld implements AsyncDisposable {
  readonly cluster: TestCluster;
  readonly #sidecars: Sidecar[] = [];

  constructor(options: TestClusterOptions = {}) {
    this.cluster = new TestCluster(options);
  }

  sidecar(memberId: string, more: Partial<SidecarOptions> = {}): Sidecar {
    const { store, options } = this.cluster.process(memberId);
    const { clock, random } = options;
    const given = { ...(clock === undefined ? {} : { clock }), ...(random === undefined ? {} : { random }) };
    const sidecar = new Sidecar(store, { memberId, ttlMs: TTL_MS, drainMs: DRAIN_MS, ...given, ...more });
    this.#sidecars.push(sidecar);
    return sidecar;
  }

  /** A candidacy of the election `e` that ends with its stream. */
  client(sidecar: Sidecar, id: string, settings: Partial<CandidacySettings> = {}): Client {
    const candidacy = sidecar.create('e', id, { renewWithinMs: null, ...settings });
    const events: CandidacyEvent[] = [];
    const disconnect = candidacy.openStream((event) => void events.push(event));
    return { candidacy, events, disconnect };
  }

  get nowMs(): number {
    return this.cluster.clock.monotonic();
  }

  async pass(ms: number): Promise<void> {
    await this.cluster.advance(ms);
  }

  /**
   * Lets time pass in steps of 10 ms until the condition holds. Returns how long that took, in ms.
   */
  async until(condition: () => boolean, withinMs = 120_000): Promise<number> {
    const startMs = this.nowMs;
    while (!condition()) {
      if (this.nowMs - startMs > withinMs) throw new Error(`the condition does not hold within ${withinMs} ms`);
      await this.pass(10);
    }
    return this.nowMs - startMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster.clock.run(Promise.all(this.#sidecars.map((sidecar) => sidecar.close())));
    await this.cluster.close();
  }
}
