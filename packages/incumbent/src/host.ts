/**
 * The part of one process in its elections, for the integrations of frameworks: a store, a member
 * and a monitor that are opened and closed together.
 */

import type { Election, ElectionOptions, LeadOptions, Leadership, Logger, ShutdownOptions, Store } from '@incumbent/core';
import {
  checkFunction,
  checkKnown,
  checkLogger,
  checkSignal,
  describeStore,
  invalidOption,
  invalidSecret,
  isStore,
  isUrl,
  textOfError,
} from '@incumbent/core/adapter';
import { Member, memberOptionNames, type MemberOptions } from './member.ts';
import { type Health, Monitor } from './monitor.ts';
import { isOpener, openStore, SOURCES, type StoreOpener } from './open-store.ts';

/** The options of an {@link ElectionHost}. */
export interface HostOptions {
  /**
   * What `openStore` opens: a URL, or a function such as `() => openRedis({ client })`. The host
   * closes this store. Or an open store, which its owner closes.
   */
  readonly store: string | URL | StoreOpener | Store;
  /**
   * How long to try again while the store cannot be reached, in ms. From 0 to Infinity. Default
   * 30,000. Leave it out for an open store. The first attempt that fails is logged to
   * `member.logger`.
   */
  readonly waitMs?: number | undefined;
  /** Aborts the wait for the store, as in `openStore`, and nothing later. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with the error of each attempt to open the store that is followed by another. Leave it
   * out for an open store.
   */
  readonly onRetry?: ((error: unknown) => void) | undefined;
  /** The options of the `Member`. */
  readonly member?: MemberOptions | undefined;
  /**
   * The `name` of a store that is not linearizable, such as `'redis'`, to accept its weaker
   * guarantees in all elections of this host. Has no effect on a linearizable store. Default: such
   * a store is refused with `WEAK_STORE`.
   */
  readonly acceptWeakStore?: string | undefined;
  /** Called when this process takes no further part in an election, because of an error. */
  readonly onFailure: (failure: HostFailure) => unknown;
}

/** The options of a host that the integrations of frameworks have as well. */
const SHARED_OPTIONS: readonly (keyof HostOptions)[] = ['store', 'waitMs', 'signal', 'onRetry', 'member', 'acceptWeakStore'];

/**
 * For an integration of a framework: checks the names of its options, which are those of an
 * `ElectionHost` without `onFailure`, and `own`.
 *
 * @throws {TypeError} `INVALID_OPTION` if there is an option of another name.
 */
export function checkIntegrationOptions(integration: string, options: object, own: readonly string[]): void {
  checkKnown(integration, options, [...SHARED_OPTIONS, ...own], placeOf);
}

/** Where an option belongs that was passed to the host in place of its member. */
function placeOf(name: string): string {
  return memberOptionNames.includes(name) ? `. ${name} is an option of the member: member: { ${name} }` : '';
}

/** An election in which this process takes no further part. A restart may help. */
export interface HostFailure {
  readonly election: string;
  readonly error: unknown;
}

/** The health of this process: that of the monitor, and the elections that have failed. */
export interface HostHealth extends Health {
  /** The elections in which this process takes no further part, and why. */
  readonly failures: readonly { readonly election: string; readonly error: string }[];
}

/** How long a service waits for its store when it starts. */
const WAIT_MS = 30_000;

const LEFT_OUT =
  'left out: the store is open. To wait for a store, pass a URL, or a function that opens the store: store: () => openRedis({ client })';

/** A store, a member and a monitor, and the work that they do in the background. */
export class ElectionHost {
  readonly store: Store;
  readonly member: Member;
  readonly monitor: Monitor;
  readonly #options: HostOptions;
  readonly #ownsStore: boolean;
  readonly #elections = new Map<string, Election>();
  readonly #failures: HostFailure[] = [];
  readonly #running = new Set<Promise<void>>();

  private constructor(store: Store, monitor: Monitor, options: HostOptions, ownsStore: boolean) {
    this.store = store;
    this.#ownsStore = ownsStore;
    this.monitor = monitor;
    this.#options = options;
    this.member = new Member(store, options.member);
  }

  /**
   * Opens the store.
   *
   * @throws As `openStore` and `new Member` do. `INVALID_OPTION`, also for an unknown option.
   */
  static async open(options: HostOptions): Promise<ElectionHost> {
    checkIntegrationOptions('host', options, ['onFailure']);
    const { store, waitMs, onRetry, signal } = options;
    checkFunction('onFailure', options.onFailure);
    if (onRetry !== undefined) checkFunction('onRetry', onRetry);
    checkSignal({ signal });
    const opens = isUrl(store) || isOpener(store);
    if (!opens && !isStore(store)) throw invalidSecret('store', store, `an open store, ${SOURCES}`, describeStore(store));
    for (const [name, value] of Object.entries({ waitMs, onRetry })) {
      if (!opens && value !== undefined) throw invalidOption(name, value, LEFT_OUT);
    }
    const logFirst = firstRetryLogger(checkLogger(options.member?.logger));
    const retried = (error: unknown): void => {
      logFirst(error);
      onRetry?.(error);
    };
    signal?.throwIfAborted();
    const opened = opens ? await openStore(store, { waitMs: waitMs ?? WAIT_MS, signal, onRetry: retried }) : store;
    // Before the member, so that it sees all events.
    const monitor = new Monitor();
    try {
      return new ElectionHost(opened, monitor, options, opens);
    } catch (error) {
      monitor.close();
      if (opens) await opened.close();
      throw error;
    }
  }

  /**
   * The member's part in an election. Pass options only in the first call.
   *
   * @throws As `member.election` does.
   */
  election<V = unknown>(name: string, options?: ElectionOptions<V>): Election<V> {
    const { acceptWeakStore } = this.#options;
    if (this.#elections.has(name)) return this.member.election<V>(name, options);
    // Without options of the host, the caller may have made the election with the member.
    const own = acceptWeakStore === undefined ? options : { ...options, acceptWeakStore: options?.acceptWeakStore ?? acceptWeakStore };
    const election = this.member.election<V>(name, own);
    this.#elections.set(name, election);
    return election;
  }

  /**
   * Whether this process leads the election now. False for an election that neither `election` nor
   * `lead` has been called for, and false once the host closes, also while the work still drains.
   * Never throws.
   */
  isLeader(name: string): boolean {
    return this.#elections.get(name)?.leadership !== undefined;
  }

  /**
   * Campaigns in the background, and runs `work` while this process leads, as `election.lead` does.
   * If that rejects, calls `onFailure`, and `health` is false from then on. An abort of the signal
   * in the options is no failure.
   *
   * @throws As `member.election` does.
   */
  lead<V = unknown>(name: string, work: (leadership: Leadership<V>) => unknown, options: LeadOptions = {}): void {
    const election = this.election<V>(name);
    const { signal } = options;
    this.run(name, async () => {
      try {
        await election.lead(work, options);
      } catch (error) {
        if (signal?.aborted !== true || error !== signal.reason) throw error;
      }
    });
  }

  /** Runs a task that ends with the member, such as `cron.run()`. An error counts as in `lead`. */
  run(election: string, task: () => Promise<unknown>): void {
    const running = this.#settle(election, task);
    this.#running.add(running);
    void running.then(() => this.#running.delete(running));
  }

  /**
   * For a liveness probe, which has to be slower than a ttl (docs/operations.md says why). Can be
   * sent as JSON.
   */
  health(): HostHealth {
    const { healthy, ...rest } = this.monitor.health();
    const failures = this.#failures.map(({ election, error }) => ({ election, error: textOfError(error) }));
    return { healthy: healthy && failures.length === 0, ...rest, failures };
  }

  /** Hands over, drains the work and waits for it, as `member.shutdown()` does. Idempotent. */
  async shutdown(options: ShutdownOptions = {}): Promise<void> {
    await this.member.shutdown(options);
    await Promise.all(this.#running);
  }

  /** Shuts down, and closes the monitor, and the store if this has opened it. Idempotent. */
  async close(): Promise<void> {
    await this.shutdown();
    if (this.#ownsStore) await this.store.close();
    this.monitor.close();
  }

  async #settle(election: string, task: () => Promise<unknown>): Promise<void> {
    try {
      await task();
    } catch (error) {
      const failure = { election, error };
      this.#failures.push(failure);
      this.#tell(failure);
    }
  }

  #tell(failure: HostFailure): void {
    void (async () => {
      try {
        // It may be asynchronous, although nobody waits for it.
        await this.#options.onFailure(failure);
      } catch (error) {
        const text = `onFailure threw: ${error instanceof Error ? error.message : textOfError(error)}`;
        process.emitWarning(text, { type: 'IncumbentWarning', code: 'INCUMBENT_CALLBACK_FAILED' });
      }
    })();
  }
}

/** Logs the error of the first attempt to open the store, because a start may wait for minutes. */
function firstRetryLogger(logger: Logger | undefined): (error: unknown) => void {
  let isLogged = false;
  return (err) => {
    if (isLogged) return;
    isLogged = true;
    try {
      logger?.warn({ event: 'waitingForStore', err }, 'waits for the store');
    } catch {
      // As with every event of the member, an error of the logger changes nothing.
    }
  };
}
