/** Every kind of call that elections make, tried once below a scratch key, which is removed. */

import type { Change, Lease, Revision, Store } from '@incumbent/core';

import { failure, ok, type Finding } from './finding.ts';
import { CALL, leaseCall, type Patient } from './patient.ts';

const text = new TextEncoder();

/** Ends at the first kind that fails: those after it build on it. What was made is removed all the same. */
export async function permissions(patient: Patient): Promise<readonly Finding[]> {
  const trial = new Trial(patient);
  const findings: Finding[] = [];
  for (const [what, step] of trial.steps()) {
    try {
      await step();
      findings.push(ok(what, 'allowed'));
    } catch (error) {
      findings.push(failure(what, error));
      break;
    }
  }
  const left = await trial.tidy();
  return left === undefined ? findings : [...findings, left];
}

class Trial {
  readonly #store: Store;
  readonly #ttlMs: number;
  readonly #scratch: string;
  readonly #kept: string;
  readonly #leased: string;
  #lease: Lease | undefined;

  constructor({ store, ttlMs, scratch }: Patient) {
    this.#store = store;
    this.#ttlMs = ttlMs;
    this.#scratch = scratch;
    this.#kept = `${scratch}/term`;
    this.#leased = `${scratch}/leader`;
  }

  /** In the order in which an election needs them. */
  steps(): readonly (readonly [what: string, step: () => Promise<void>])[] {
    return [
      ['take a lease', () => this.#grant()],
      ['join a queue', () => this.#join()],
      ['read and list', () => this.#look()],
      ['watch', () => this.#watch()],
      ['claim: several keys at once', () => this.#claim()],
      ['renew', () => this.#renew()],
      ['delete on a condition', () => this.#delete()],
      ['revoke: its keys go with it', () => this.#revoke()],
    ];
  }

  /** Removes what is left; says so where that cannot be done. */
  async tidy(): Promise<Finding | undefined> {
    try {
      if (this.#lease !== undefined) await this.#store.revokeLease(this.#lease.id, CALL);
      const left = await this.#store.list(this.#scratch, CALL);
      for (const { key, revision } of left) await this.#store.compareAndSwap([{ key, expect: revision, delete: true }], CALL);
      return undefined;
    } catch (error) {
      const { detail } = failure('', error);
      return { level: 'failure', what: 'tidy up', detail: `${this.#scratch} could not be removed: ${detail}` };
    }
  }

  async #grant(): Promise<void> {
    this.#lease = await this.#store.grantLease(this.#ttlMs, leaseCall());
  }

  get #id(): string {
    if (this.#lease === undefined) throw new TypeError('there is no lease');
    return this.#lease.id;
  }

  async #join(): Promise<void> {
    await this.#store.enqueue(`${this.#scratch}/candidates`, 'doctor~1~1~fifo~', text.encode('{}'), this.#id, CALL);
  }

  async #look(): Promise<void> {
    const entries = await this.#store.list(`${this.#scratch}/candidates`, CALL);
    if (entries.length !== 1) throw new Error(`${entries.length} entries are listed where 1 was made`);
    const absent = await this.#store.read(this.#leased, CALL);
    if (absent !== undefined) throw new Error('a key that nobody made is there');
  }

  async #watch(): Promise<void> {
    const over = new AbortController();
    const late = setTimeout(() => over.abort(), CALL.timeoutMs);
    let seen = false;
    for await (const state of this.#store.watch(this.#leased, { signal: over.signal })) {
      seen = state === undefined;
      break;
    }
    clearTimeout(late);
    over.abort();
    if (!seen) throw new Error(`the watch showed nothing within ${CALL.timeoutMs} ms`);
  }

  async #claim(): Promise<void> {
    const put = text.encode('{}');
    await this.#swap([
      { key: this.#leased, expect: null, put, lease: this.#id },
      { key: this.#kept, expect: null, put, lease: null },
    ]);
  }

  async #renew(): Promise<void> {
    await this.#store.renewLease(this.#id, leaseCall());
  }

  async #delete(): Promise<void> {
    await this.#swap([{ key: this.#kept, expect: await this.#revisionOf(this.#kept), delete: true }]);
  }

  async #revoke(): Promise<void> {
    await this.#store.revokeLease(this.#id, CALL);
    this.#lease = undefined;
    const left = await this.#store.list(this.#scratch, CALL);
    if (left.length > 0) throw new Error(`${left.length} keys outlived their lease`);
  }

  async #swap(changes: readonly Change[]): Promise<void> {
    const { swapped } = await this.#store.compareAndSwap(changes, CALL);
    if (!swapped) throw new Error('somebody else writes below the scratch key');
  }

  async #revisionOf(key: string): Promise<Revision> {
    const entry = await this.#store.read(key, CALL);
    if (entry === undefined) throw new Error(`${key} is gone`);
    return entry.revision;
  }
}
