/**
 * Makes every kind of call that elections make once, below a scratch key that is removed
 * afterwards.
 */

import type { Change, Lease, Revision, Store } from '@incumbent/core';

import { showDuration } from '../common/duration.ts';
import { failure, ok, type Finding } from './finding.ts';
import { CALL, leaseCall, type ProbeTarget, removeScratch } from './probe-target.ts';

const text = new TextEncoder();

/**
 * Stops at the first call that fails, because the later ones depend on it. Removes its keys in any
 * case.
 */
export async function checkPermissions(target: ProbeTarget): Promise<readonly Finding[]> {
  const probe = new PermissionProbe(target);
  const findings: Finding[] = [];
  const fromMs = performance.now();
  for (const [what, step] of probe.steps()) {
    if (target.stopping?.aborted === true) break;
    try {
      await step();
      findings.push(ok(what, 'allowed'));
    } catch (error) {
      findings.push(...slowness(performance.now() - fromMs, target), failure(what, error));
      break;
    }
  }
  const leftover = await probe.cleanUp();
  return leftover === undefined ? findings : [...findings, leftover];
}

/**
 * The probe's lease is not renewed. If it has expired before the last call, the later calls fail,
 * and their errors do not say that the store is slow.
 */
function slowness(tookMs: number, { ttlMs }: ProbeTarget): readonly Finding[] {
  if (tookMs <= ttlMs) return [];
  const detail = `too slow: a few calls took ${showDuration(Math.round(tookMs))}, longer than the ttl of ${showDuration(ttlMs)}`;
  return [{ level: 'failure', what: 'round trips', detail }];
}

class PermissionProbe {
  readonly #target: ProbeTarget;
  readonly #store: Store;
  readonly #ttlMs: number;
  readonly #scratch: string;
  readonly #persistent: string;
  readonly #leased: string;
  #lease: Lease | undefined;

  constructor(target: ProbeTarget) {
    const { store, ttlMs, scratch } = target;
    this.#target = target;
    this.#store = store;
    this.#ttlMs = ttlMs;
    this.#scratch = scratch;
    this.#persistent = `${scratch}/term`;
    this.#leased = `${scratch}/leader`;
  }

  /** The calls, in the order in which an election makes them. */
  steps(): readonly (readonly [what: string, step: () => Promise<void>])[] {
    return [
      ['take a lease', () => this.#grant()],
      ['join a queue', () => this.#join()],
      ['read and list', () => this.#readAndList()],
      ['watch', () => this.#watch()],
      ['claim: several keys at once', () => this.#claim()],
      ['renew', () => this.#renew()],
      ['delete on a condition', () => this.#delete()],
      ['revoke: its keys go with it', () => this.#revoke()],
    ];
  }

  /** Removes the probe's keys. Resolves with a failure if that is not possible. */
  async cleanUp(): Promise<Finding | undefined> {
    // The lease may have expired meanwhile. Its keys are removed in any case.
    if (this.#lease !== undefined) await this.#store.revokeLease(this.#lease.id, CALL).catch(() => {});
    return removeScratch(this.#target);
  }

  async #grant(): Promise<void> {
    this.#lease = await this.#store.grantLease(this.#ttlMs, leaseCall());
  }

  get #id(): string {
    if (this.#lease === undefined) throw new TypeError('the lease has not been granted');
    return this.#lease.id;
  }

  async #join(): Promise<void> {
    await this.#store.enqueue(`${this.#scratch}/candidates`, 'doctor~1~1~fifo~', text.encode('{}'), this.#id, CALL);
  }

  async #readAndList(): Promise<void> {
    const entries = await this.#store.list(`${this.#scratch}/candidates`, CALL);
    if (entries.length !== 1) throw new Error(`the list has ${entries.length} entries instead of 1`);
    const absent = await this.#store.read(this.#leased, CALL);
    if (absent !== undefined) throw new Error('the store returned a key that was never written');
  }

  async #watch(): Promise<void> {
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), CALL.timeoutMs);
    let seen = false;
    for await (const state of this.#store.watch(this.#leased, { signal: over.signal })) {
      seen = state === undefined;
      break;
    }
    clearTimeout(timer);
    over.abort();
    if (!seen) throw new Error(`the watch reported nothing within ${CALL.timeoutMs} ms`);
  }

  async #claim(): Promise<void> {
    const put = text.encode('{}');
    await this.#swap([
      { key: this.#leased, expect: null, put, lease: this.#id },
      { key: this.#persistent, expect: null, put, lease: null },
    ]);
  }

  async #renew(): Promise<void> {
    await this.#store.renewLease(this.#id, leaseCall());
  }

  async #delete(): Promise<void> {
    await this.#swap([{ key: this.#persistent, expect: await this.#revisionOf(this.#persistent), delete: true }]);
  }

  async #revoke(): Promise<void> {
    await this.#store.revokeLease(this.#id, CALL);
    this.#lease = undefined;
    const left = await this.#store.list(this.#scratch, CALL);
    if (left.length > 0) throw new Error(`${left.length} keys still exist after their lease was revoked`);
  }

  async #swap(changes: readonly Change[]): Promise<void> {
    const { swapped } = await this.#store.compareAndSwap(changes, CALL);
    if (!swapped) throw new Error('a compare-and-swap failed: somebody else writes below the scratch key');
  }

  async #revisionOf(key: string): Promise<Revision> {
    const entry = await this.#store.read(key, CALL);
    if (entry === undefined) throw new Error(`${key} is gone`);
    return entry.revision;
  }
}
