/**
 * The simulated store itself. It is linearizable unless it is told to fail. A request arrives,
 * takes effect at one instant, and is answered.
 */

import { StoreError, type Key, type LeaseId, type Revision, type StoreCapabilities } from '@incumbent/core';
import type { Stream } from '../time/random.ts';
import type { Scheduler } from '../time/scheduler.ts';
import { Disks, type HangOptions } from './disks.ts';
import { Leases, type HeldLease } from './leases.ts';
import { WRITES, type RequestInfo, type StoreShape, type StoreOperation } from './shape.ts';
import { NOTHING, State, type Cause, type Changed, type Contents } from './state.ts';

export interface ServerOptions {
  readonly shape: StoreShape;
  readonly random: Stream;
}

/** Receives what happens in the store, at the instant at which it happens. */
export interface ServerListener {
  changed(changes: readonly Changed[]): void;
  /** The store applied a request, or rejected it because of its state. */
  applied(info: RequestInfo, owner: string): void;
}

/** A request that has arrived. */
export interface Request {
  readonly info: RequestInfo;
  readonly owner: string;
  /** The server that received the request. */
  readonly server: number;
  /** Applies the request. The returned function sends the answer. */
  apply(): () => void;
  /** Answers that the request was certainly not applied. */
  refuse(error: StoreError): void;
}

/** A watch at the store. It is notified once when a watched key has changed. */
export interface Subscription {
  readonly server: number;
  matches(key: Key): boolean;
  tell(): void;
  /** The server of the watch is gone. `denied`: the client may no longer watch. */
  drop(denied: boolean): void;
}

interface Snapshot {
  readonly contents: Contents;
  readonly leases: readonly HeldLease[];
}

const DAY_MS = 86_400_000;

export class SimServer {
  readonly shape: StoreShape;
  readonly capabilities: StoreCapabilities;
  readonly state: State;
  readonly leases: Leases;
  readonly disks: Disks;
  readonly #scheduler: Scheduler;
  readonly #random: Stream;
  readonly #listeners: ServerListener[] = [];
  readonly #subscriptions = new Set<Subscription>();
  #downUntilMs = 0;

  constructor(scheduler: Scheduler, { shape, random }: ServerOptions) {
    this.shape = shape;
    this.#scheduler = scheduler;
    this.#random = random;
    this.disks = new Disks(shape.servers ?? 1, random);
    this.capabilities = capabilitiesOf(shape);
    const { swapSharesRevision = false } = shape;
    this.state = new State({ ...this.capabilities, swapSharesRevision }, (changes) => this.#changed(changes));
    const rules = {
      rate: shape.rate,
      lateMs: shape.expiryLateMs,
      assignable: shape.assignableLease,
      lagging: shape.acknowledges !== 'renewal',
    };
    this.leases = new Leases(scheduler, random, rules, (lease) => this.state.removeOf(lease, { by: 'expiry' }));
  }

  listen(listener: ServerListener): void {
    this.#listeners.push(listener);
  }

  /** How many watches are open. */
  get watches(): number {
    return this.#subscriptions.size;
  }

  get isDown(): boolean {
    return this.downForMs > 0;
  }

  /** How long until the store serves requests again, in ms. */
  get downForMs(): number {
    return Math.max(this.#downUntilMs - this.#scheduler.nowMs, 0);
  }

  /**
   * Receives a request. While the store is down, the request is rejected, or lost, or waits and is
   * applied later. The client cannot tell which.
   */
  receive(request: Request): void {
    if (!this.isDown) return this.#receiveAt(request);
    const fate = this.#random.below(3);
    if (fate === 0) request.refuse(new StoreError('UNAVAILABLE', 'refused', `${request.info.operation}: the store has no leader`));
    if (fate === 1) this.#scheduler.at(this.#downUntilMs + this.#random.below(100), () => this.receive(request));
  }

  #receiveAt(request: Request): void {
    const { info, server } = request;
    const fate = this.disks.fateOf(info.operation, server);
    if (fate === 'waits') this.disks.wait(server, () => this.#scheduler.after(this.#random.below(100), () => this.receive(request)));
    else this.#apply(request, fate === 'served');
  }

  #apply(request: Request, isAnswered: boolean): void {
    const answer = request.apply();
    if (isAnswered) answer();
    for (const listener of this.#listeners) listener.applied(request.info, request.owner);
  }

  subscribe(subscription: Subscription): () => void {
    this.#subscriptions.add(subscription);
    this.disks.begin(subscription);
    return () => this.#unsubscribe(subscription);
  }

  /** Makes the disk of a server hang until the returned function is called. */
  hangDisk(options: HangOptions): () => void {
    return this.disks.hang(options, this.#subscriptions);
  }

  #unsubscribe(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
    this.disks.end(subscription);
  }

  /** Ends a lease now, and deletes the keys bound to it. False if there was no such lease. */
  endLease(lease: LeaseId, cause: Cause): boolean {
    const ended = this.leases.remove(lease);
    if (ended) this.state.removeOf(lease, cause);
    return ended;
  }

  /** The state of the store now, for a failover that loses later writes. */
  snapshot(): Snapshot {
    return { contents: this.state.copy(), leases: this.leases.copy() };
  }

  /**
   * The store is down for this many ms. Then every lease has its whole ttl again. Watches break
   * off. If `lost` is given, the store returns to that state.
   */
  failOver(forMs: number, lost?: Snapshot): void {
    this.#downUntilMs = Math.max(this.#downUntilMs, this.#scheduler.nowMs + forMs);
    if (lost !== undefined) {
      this.leases.restore(lost.leases);
      this.state.restore(lost.contents);
    }
    this.leases.refresh(this.#downUntilMs);
    this.breakWatches();
  }

  /** Deletes everything: keys, leases and revisions. */
  wipe(): void {
    this.leases.restore([]);
    this.state.restore(NOTHING);
    this.breakWatches();
  }

  /**
   * Ends this part of the watches, from 0 to 1: because of a compaction or the loss of a server,
   * or, if `denied`, because the permission was revoked.
   */
  breakWatches(part = 1, denied = false): void {
    for (const subscription of [...this.#subscriptions]) {
      if (!this.#random.chance(part)) continue;
      this.#unsubscribe(subscription);
      subscription.drop(denied);
    }
  }

  #changed(changes: readonly Changed[]): void {
    for (const listener of this.#listeners) listener.changed(changes);
    for (const subscription of this.#subscriptions)
      if (concerns(changes, subscription) && !this.disks.silences(subscription)) subscription.tell();
  }
}

function concerns(changes: readonly Changed[], subscription: Subscription): boolean {
  for (const { key } of changes) if (subscription.matches(key)) return true;
  return false;
}

export function isWrite(operation: StoreOperation): boolean {
  return WRITES.includes(operation);
}

function capabilitiesOf(shape: StoreShape): StoreCapabilities {
  const {
    assignableLease,
    revisionsSurviveDeletion,
    swapSharesRevision = false,
    expiryLateMs,
    rate,
    keysPerLease = 100_000,
    endsEarly,
  } = shape;
  const capabilities = {
    linearizable: true,
    termSource: 'counter' as const,
    minTtlMs: 200,
    maxTtlMs: DAY_MS,
    expiresWithinMs: (ttlMs: number) => ttlMs / rate + expiryLateMs + 2,
    assignableLease,
    // Real stores have these two capabilities together.
    watchTellsValues: assignableLease,
    revisionsSurviveDeletion,
    ...(swapSharesRevision ? { revisionInSwap: (other: Revision) => other } : {}),
    maxChanges: 128,
    maxValueBytes: 2 ** 20,
    maxKeysPerLease: keysPerLease,
    // The client counts from the renewal before, however long ago it was.
    ...(shape.acknowledges === 'previous' ? { renewalLag: 0.01 } : {}),
  };
  return endsEarly === undefined ? capabilities : { ...capabilities, endsEarly };
}
