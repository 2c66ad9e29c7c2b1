/**
 * Renews a member's leases from a worker thread while the event loop of the main thread is blocked.
 * The worker has a connection of its own, opened as the reaper opens it. While the event loop runs,
 * the worker sends nothing.
 */

import { Worker, type WorkerOptions } from 'node:worker_threads';

import type { LeaseId, RenewedLease, RenewedMember, Renewal, Renewer, RenewerMemberHandle } from '@incumbent/core';
import { Backoff, invalidOption, moduleBeside, momentOf, systemRandom } from '@incumbent/core/adapter';

import type { LeaseMessage, ReadyMessage, WorkerSettings } from './renewer/messages.ts';
import { now, SharedLease } from './renewer/shared-lease.ts';

/** How many times per ttl the worker looks whether a renewal is due. */
const CHECKS_PER_TTL = 20;
/** The event loop counts as blocked after so many checks without a beat. */
const MISSED_BEATS = 3;
/** Delay before another worker is started after one has died, in ms: doubled each time. */
const RESTART_MS = { first: 1_000, longest: 60_000 };
/** How long a closing member waits for the end of its worker, in ms. */
const END_TIMEOUT_MS = 1_000;

/**
 * Makes the renewer of `renewIn: 'worker'`.
 *
 * @throws `INVALID_OPTION` when it joins a member, if another thread cannot renew the store's
 *   leases.
 */
export function workerRenewer(): Renewer {
  return { join: (member) => new WorkerRenewer(member, settingsFor(member)) };
}

function settingsFor({ store, timing, maxBlockedMs }: RenewedMember): WorkerSettings {
  const { ttlMs, retryEveryMs, callTimeoutMs } = timing;
  const { revocation, name } = store;
  if (revocation?.renews !== true)
    throw invalidOption('renewIn', 'worker', `left out, or 'eventLoop': a worker cannot renew leases of this ${name} store`);
  const checkEveryMs = ttlMs / CHECKS_PER_TTL;
  const rules = { blockedAfterMs: MISSED_BEATS * checkEveryMs, maxBlockedMs, retryEveryMs, callTimeoutMs };
  return { module: revocation.module, access: revocation.access, rules, checkEveryMs };
}

/**
 * A worker inherits the options of the process. It cannot start with `--input-type`, which is for
 * code on the command line only, so it then starts without any.
 */
function ownOptions(): WorkerOptions {
  return process.execArgv.some((option) => option.startsWith('--input-type')) ? { execArgv: [] } : {};
}

/** One worker for one member. It starts with the first lease, and again if it dies. */
class WorkerRenewer implements RenewerMemberHandle {
  readonly #member: RenewedMember;
  readonly #settings: WorkerSettings;
  readonly #leases = new Map<SharedLease, LeaseMessage>();
  readonly #backoff = new Backoff(systemRandom, RESTART_MS.first, RESTART_MS.longest);
  #worker: Worker | undefined;
  #restart: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(member: RenewedMember, settings: WorkerSettings) {
    this.#member = member;
    this.#settings = settings;
  }

  renew(lease: LeaseId, granted: Renewal): RenewedLease {
    const ticket = this.#member.store.revocation?.ticketOf(lease);
    const { timing } = this.#member;
    const shared = new SharedLease();
    const handle: RenewedLease = {
      beat: () => shared.beat(now()),
      renewed: ({ validFrom }) => shared.renewed(this.#sharedTime(validFrom.monotonicMs)),
      latest: () => this.#latest(shared),
      ended: () => {
        shared.end();
        this.#leases.delete(shared);
      },
    };
    handle.beat();
    handle.renewed(granted);
    if (ticket === undefined || this.#isClosed) return handle;
    const renewEveryMs = timing.renewEveryMs * Math.min(1, granted.ttlMs / timing.ttlMs);
    const message = { ticket, renewEveryMs, buffer: shared.buffer };
    this.#leases.set(shared, message);
    if (this.#worker !== undefined) this.#worker.postMessage(message);
    else if (this.#restart === undefined) this.#start();
    return handle;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#restart);
    for (const shared of this.#leases.keys()) shared.end();
    this.#leases.clear();
    const worker = this.#worker;
    this.#worker = undefined;
    if (worker === undefined) return;
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, END_TIMEOUT_MS);
    await Promise.race([worker.terminate(), timeout]);
    clearTimeout(timer);
  }

  #start(): void {
    this.#restart = undefined;
    // This file stays in the root of src: in the published bundle, import.meta.url is a file of
    // dist's root.
    let worker: Worker;
    try {
      worker = new Worker(new URL(moduleBeside(import.meta.url, 'renewer/worker')), { workerData: this.#settings, ...ownOptions() });
    } catch (error) {
      this.#lost(error);
      return;
    }
    this.#worker = worker;
    worker.unref();
    const startedAtMs = now();
    worker.once('message', ({ nowMs }: ReadyMessage) => this.#ready(worker, nowMs >= startedAtMs && nowMs <= now()));
    let failure: unknown;
    worker.once('error', (error) => {
      failure = error;
    });
    worker.once('exit', (code) => this.#exited(worker, failure ?? new Error(`the worker ended with code ${code}`)));
    for (const message of this.#leases.values()) worker.postMessage(message);
  }

  /**
   * Gives the worker up if its clock is not that of this thread: its renewals would count from a
   * wrong moment.
   */
  #ready(worker: Worker, hasSameClock: boolean): void {
    if (this.#worker !== worker) return;
    if (hasSameClock) {
      this.#backoff.reset();
      this.#member.emit('renewerReady', { thread: worker.threadId });
      return;
    }
    this.#member.emit('renewerLost', { why: 'the threads of this process have different clocks' });
    void this.close();
  }

  #exited(worker: Worker, error: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#lost(error);
  }

  /** Starts another worker after a pause. */
  #lost(error: unknown): void {
    const nextInMs = this.#backoff.next();
    this.#restart = setTimeout(() => this.#start(), nextInMs).unref();
    this.#member.emit('renewerLost', { error, nextInMs });
  }

  /**
   * The worker's newest renewal on the member's clocks. Reads the member's clocks first: if this
   * process is paused between the readings, the moment comes out too early, never too late.
   */
  #latest(shared: SharedLease): Renewal | undefined {
    const renewal = shared.latest();
    if (renewal === undefined) return undefined;
    const { atMs, wallMs, ttlMs } = renewal;
    const own = momentOf(this.#member.clock);
    const [agoMs, wallAgoMs] = [now() - atMs, Date.now() - wallMs];
    return { ttlMs, validFrom: { monotonicMs: own.monotonicMs - agoMs, wallMs: own.wallMs - wallAgoMs } };
  }

  /** Converts a moment of the member's monotonic clock to the clock of all threads. */
  #sharedTime(monotonicMs: number): number {
    return now() - (this.#member.clock.monotonic() - monotonicMs);
  }
}
