/**
 * The store as `incumbent doctor` sees it. The checks run while somebody looks: when the first
 * viewer comes, every half a minute, and when a viewer asks. Without `--allow-operate` they only
 * read.
 */

import type { Cancel, Clock, Store } from '@incumbent/core';

import { failure, type Finding } from '../doctor/finding.ts';
import { runChecks } from '../doctor/run-checks.ts';
import type { Board } from './board.ts';

const CHECK_EVERY_MS = 30_000;
/** A check that a viewer asks for so soon after the last one would show the same, in ms. */
const CHECK_APART_MS = 2_000;

export interface HealthOptions {
  readonly store: Store;
  readonly board: Board;
  readonly clock: Clock;
  readonly writes: boolean;
}

export class StoreHealth {
  readonly #options: HealthOptions;
  #viewers = 0;
  #running: Promise<void> | undefined;
  #cancel: Cancel = () => {};
  #endedAtMs = -Infinity;
  #isClosed = false;
  #checkedAtMs: number | undefined;
  #findings: readonly Finding[] = [];

  constructor(options: HealthOptions) {
    this.#options = options;
    options.board.set('health', { running: false, writes: options.writes, findings: [] });
  }

  /** Counts a viewer until the returned function is called. */
  join(): Cancel {
    this.#viewers += 1;
    if (this.#viewers === 1) void this.check();
    let isThere = true;
    return () => {
      if (isThere) this.#viewers -= 1;
      isThere = false;
      if (this.#viewers === 0) this.#cancel();
    };
  }

  /** Runs the checks, unless they are running or have just ended. Resolves when they have ended. */
  async check(): Promise<void> {
    const { clock } = this.#options;
    if (this.#isClosed) return;
    if (this.#running === undefined && clock.monotonic() - this.#endedAtMs >= CHECK_APART_MS)
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
        this.#endedAtMs = clock.monotonic();
      });
    await this.#running;
    this.#cancel();
    if (this.#viewers > 0) this.#cancel = clock.schedule(CHECK_EVERY_MS, () => void this.check());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    this.#viewers = 0;
    await this.#running;
  }

  async #run(): Promise<void> {
    const { store, board, writes, clock } = this.#options;
    board.set('health', { running: true, writes, findings: shown(this.#findings), ...this.#checkedAt() });
    const findings: Finding[] = [];
    try {
      await runChecks(store, { writes, report: (more) => findings.push(...more) });
    } catch (error) {
      findings.push(failure('the checks', error));
    }
    this.#findings = findings;
    this.#checkedAtMs = clock.wall();
    board.set('health', { running: false, writes, findings: shown(findings), ...this.#checkedAt() });
  }

  #checkedAt(): { readonly checkedAt?: number } {
    return this.#checkedAtMs === undefined ? {} : { checkedAt: this.#checkedAtMs };
  }
}

function shown(findings: readonly Finding[]): readonly Pick<Finding, 'level' | 'what' | 'detail'>[] {
  return findings.map(({ level, what, detail }) => ({ level, what, detail }));
}
