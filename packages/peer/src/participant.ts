/** Connects the driver of one member's algorithm with its transport and its storage. */

import type { Clock, Random } from '@incumbent/core';
import { endQuietly, momentOf, sleep, type Telemetry } from '@incumbent/core/adapter';
import type { Algorithm, Validity, Position, Safety, TermOf } from './algorithm.ts';
import { Driver, type Ports, type Written } from './driver.ts';
import { Conflicts, Refusals, type RefusalReason } from './refusals.ts';
import type { DurableStorage } from './storage.ts';
import type { Found, Frame, Link, Transport } from './transport.ts';

/** How long the end, or a failed start, may wait for the storage and the transport, in ms. */
const LEAVE_WITHIN_MS = 2_000;

/** After this time without an answer of the storage, in ms, the member says so. */
const SLOW_STORAGE_MS = 1_000;

/** What a participant reports to its member. */
interface ParticipantCallbacks<S extends Safety> extends Pick<Ports<S>, 'ended' | 'viewed' | 'membership' | 'failed'> {
  elected(driver: Driver<S>, validity: Validity<S>): void;
}

export interface ParticipantContext<S extends Safety> {
  readonly memberId: string;
  readonly algorithm: Algorithm<S>;
  readonly transport: Transport;
  readonly storage: DurableStorage | undefined;
  readonly position: () => Position;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly callbacks: ParticipantCallbacks<S>;
}

/** Sends and receives nothing before `start`. */
export class Participant<S extends Safety> {
  readonly #context: ParticipantContext<S>;
  readonly #refusals: Refusals<RefusalReason>;
  readonly #conflicts: Conflicts;
  #starting: Promise<Driver<S>> | undefined;
  #driver: Driver<S> | undefined;
  #link: Link | undefined;
  /** Whether this participant has loaded the storage, and so has to close it. */
  #isLoaded = false;
  #storageClosed: Promise<void> | undefined;
  #isLeaving = false;

  constructor(context: ParticipantContext<S>) {
    this.#context = context;
    this.#refusals = new Refusals(context.telemetry, 'messageRefused', { unknownMember: 0, configuration: 0, malformed: 0 });
    this.#conflicts = new Conflicts(context.telemetry);
  }

  /** The newest term that this member knows. Undefined before the start. */
  get highestTerm(): TermOf<S> | undefined {
    return this.#driver?.highestTerm;
  }

  get refused(): Readonly<Record<RefusalReason, number>> {
    return this.#refusals.counts;
  }

  /**
   * Idempotent. Rejects, also on every later call, if the storage cannot be read or the transport
   * does not open.
   */
  async start(): Promise<Driver<S>> {
    this.#starting ??= this.#begin();
    return this.#starting;
  }

  /**
   * Announces that the member leaves, if the algorithm has such a message, and sends nothing after
   * that. The participant cannot start again. Never rejects: every vote was durable when it was
   * saved, so an error of the storage's end harms nobody. Resolves after `LEAVE_WITHIN_MS` at the
   * latest: a disk that hangs must not keep the process from stopping.
   */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    await this.#awhile(this.#leave());
  }

  /** Waits for `LEAVE_WITHIN_MS` at most. Never rejects. */
  async #awhile(task: Promise<void>): Promise<void> {
    const over = new AbortController();
    void task.catch(() => {}).finally(() => endQuietly(over));
    await sleep(this.#context.clock, LEAVE_WITHIN_MS, over.signal);
  }

  async #leave(): Promise<void> {
    const driver = await this.#starting?.catch(() => {});
    driver?.command({ type: 'leave' });
    driver?.stop();
    // Neither waits for the other, which may fail or hang.
    await Promise.allSettled([this.#link?.close(), this.#closeStorage()]);
  }

  /**
   * Closes the storage once: when the member leaves, or when its start fails. Does nothing if the
   * `load` was refused: another member may use the same storage.
   */
  async #closeStorage(): Promise<void> {
    if (this.#isLoaded) await (this.#storageClosed ??= this.#context.storage?.close());
  }

  async #load(): Promise<unknown> {
    const { storage } = this.#context;
    if (storage === undefined) return undefined;
    const saved = await this.#watched('load', storage.load());
    this.#isLoaded = true;
    return saved;
  }

  async #begin(): Promise<Driver<S>> {
    const saved = await this.#load();
    try {
      // `leave` may have given up the wait for the storage.
      if (this.#isLeaving) throw new Error('the member was closed while its storage was loaded');
      return await this.#open(saved);
    } catch (error) {
      // A later member may use the storage.
      await this.#awhile(this.#closeStorage());
      throw error;
    }
  }

  async #open(saved: unknown): Promise<Driver<S>> {
    const { memberId, algorithm, transport, position, clock, random, callbacks } = this.#context;
    const durable = saved === undefined ? undefined : algorithm.readDurable(saved);
    if (durable !== undefined) this.#reportChangedMembers(algorithm.formerMembers?.(durable));
    const state = algorithm.start({ memberId, now: momentOf(clock), seed: random.u32(), durable });
    const driver: Driver<S> = new Driver(algorithm, state, {
      clock,
      position,
      send: (to, message, at) => this.#send(to, message, at),
      persist: (kept, done) => void this.#persist(kept, done),
      elected: (validity) => callbacks.elected(driver, validity),
      ended: (reason, validity) => callbacks.ended(reason, validity),
      viewed: (view) => callbacks.viewed(view),
      membership: (membership) => callbacks.membership(membership),
      conflict: (conflict) => this.#conflicts.add(conflict),
      failed: (why, error) => callbacks.failed(why, error),
    });
    this.#driver = driver;
    const { members } = algorithm;
    const options = { memberId, receive: (from: string, frame: Frame): void => this.#receive(driver, from, frame) };
    const found: Found = (self, seeds) => driver.command({ type: 'seeds', self, seeds });
    try {
      this.#link = await transport.open(members === 'open' ? { ...options, members, found } : { ...options, members });
    } catch (error) {
      driver.stop();
      throw error;
    }
    return driver;
  }

  #reportChangedMembers(former: readonly string[] | undefined): void {
    const { algorithm, telemetry } = this.#context;
    const { members } = algorithm;
    if (former === undefined || members === 'open') return;
    if (former.length === members.length && former.every((id) => members.includes(id))) return;
    telemetry.emit('membersChanged', { former, members });
  }

  #send(to: string, message: unknown, at?: string): void {
    const { algorithm } = this.#context;
    this.#link?.send(to, { configuration: algorithm.configuration, message }, algorithm.sortOf(message), at);
  }

  /**
   * Refuses messages from senders that are not listed or have another configuration, and messages
   * that no member of this algorithm sends.
   */
  #receive(driver: Driver<S>, from: string, { configuration, message }: Frame): void {
    const { memberId, algorithm } = this.#context;
    const { members, configuration: ours } = algorithm;
    if (from === memberId) this.#conflicts.add({ code: 'OWN_ID', from });
    if ((members !== 'open' && !members.includes(from)) || from === memberId) return this.#refusals.add('unknownMember', { from });
    if (configuration !== ours) return this.#refusals.add('configuration', { from, theirs: configuration, ours });
    const read = algorithm.readMessage(message);
    return read === undefined ? this.#refusals.add('malformed', { from }) : driver.receive(from, read);
  }

  /** Reports a call of the storage that takes long, because the member stands still meanwhile. */
  async #watched<T>(doing: 'load' | 'save', call: Promise<T>): Promise<T> {
    const { clock, telemetry } = this.#context;
    const answered = clock.schedule(SLOW_STORAGE_MS, () => telemetry.emit('storageSlow', { doing, forMs: SLOW_STORAGE_MS }));
    try {
      return await call;
    } finally {
      answered();
    }
  }

  async #persist(durable: unknown, done: (written: Written) => void): Promise<void> {
    try {
      const { storage } = this.#context;
      if (storage !== undefined) await this.#watched('save', storage.save(durable));
    } catch (error) {
      return done({ ok: false, error });
    }
    return done({ ok: true });
  }
}
