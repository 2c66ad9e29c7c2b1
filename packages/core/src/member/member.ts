/** A process that takes part in elections and groups: its identity and its lease. */

import { endQuietly } from '../async/abort.ts';
import { Semaphore } from '../async/semaphore.ts';
import { keepAlive, sleep } from '../async/sleep.ts';
import { explainDetached } from '../base/methods.ts';
import { type Cancel, checkClock, type Clock } from '../base/clock.ts';
import { IncumbentError } from '../base/errors.ts';
import { checkRandom, type Random, randomName } from '../base/random.ts';
import { checkLogger, type Logger, Telemetry } from '../base/telemetry.ts';
import { checkKnown, checkName, checkNumber, checkOneOf, invalidOption, invalidText } from '../base/validate.ts';
import type { ManagedLeadership } from '../leadership/leadership.ts';
import type { OnDuplicate } from '../lease/member-key.ts';
import { checkReaper, type Reaper, type ReaperMemberHandle } from '../lease/reaper.ts';
import { checkMaxBlocked, checkRenewer, type Renewer, type RenewerMemberHandle } from '../lease/renewer.ts';
import { SessionPool } from '../lease/session-pool.ts';
import type { LeaseSession } from '../lease/session.ts';
import { resolveTiming, type Timing, timingOptions, type TimingOptions } from '../lease/timing.ts';
import { checkStore, storeFields } from '../store/checks.ts';
import type { Store } from '../store/contract.ts';
import type { ElectionOptions } from './election-options.ts';
import { Election, type ElectionContext } from './election.ts';
import { Group, type GroupOptions } from './group.ts';
import { OrphanCleaner } from './orphan-cleaner.ts';
import { Rebalancer } from './rebalancer.ts';
import { onStopSignal, type StopSignal } from './stop-signals.ts';
import { SuccessorLookups } from './successor-lookups.ts';

/** The options of a {@link Member}. */
export interface MemberOptions extends TimingOptions {
  /**
   * The identity of this process: 1 to 128 characters of `A-Z a-z 0-9 . _ -`. Pass the same id
   * after a restart. Default: 12 random characters.
   */
  readonly memberId?: string | undefined;
  /** What to do when another process holds the member id. Default `'wait'`. */
  readonly onDuplicate?: OnDuplicate | undefined;
  /**
   * The name of this machine: up to 255 characters. It stands in the member's key, so that the
   * `DUPLICATE_MEMBER` of another process can say who holds the id. Default: none; the host name
   * for the `Member` of the package `incumbent`.
   */
  readonly host?: string | undefined;
  /**
   * How often this member checks whether the succession prefers another candidate to it, for
   * successions that rebalance, in ms. A member that leads several elections checks a tenth of them
   * each time, and all of them after the first that it hands over. From 100 to 86,400,000. Default
   * 30,000.
   */
  readonly rebalanceEveryMs?: number | undefined;
  /**
   * Ends this member's leases at once if this process dies, rather than at the end of their ttl:
   * `reaper()` of `@incumbent/reaper`. Default none.
   */
  readonly reaper?: Reaper | undefined;
  /**
   * Renews this member's leases while the event loop of this process is blocked. The `Member` of
   * the package `incumbent` makes one for `'worker'`. Default none.
   */
  readonly renewIn?: Renewer | undefined;
  /**
   * With `renewIn`: how long the event loop may be blocked until the renewer stops, in ms. A
   * process that hangs then loses its leadership at most this time and a ttl later. From `ttlMs` to
   * 86,400,000. Default three times the ttl.
   */
  readonly maxBlockedMs?: number | undefined;
  /** Gets the member's events: an object with debug, info, warn and error (pino). Default none. */
  readonly logger?: Logger | undefined;
  /** For tests and simulation. Default `systemClock`. */
  readonly clock?: Clock | undefined;
  /** For tests and simulation. Default `systemRandom`. */
  readonly random?: Random | undefined;
}

/** The options of `member.shutdown`. */
export interface ShutdownOptions {
  /** `'next'` hands each leadership to the next in succession; false resigns. Default `'next'`. */
  readonly handover?: 'next' | false | undefined;
  /**
   * The most that the shutdown may take, in ms. From 1 to 86,400,000. Default
   * `drainMs + 3 × callTimeoutMs`.
   */
  readonly timeoutMs?: number | undefined;
}

const known = [
  ...timingOptions,
  'memberId',
  'onDuplicate',
  'host',
  'rebalanceEveryMs',
  'reaper',
  'renewIn',
  'maxBlockedMs',
  'logger',
  'clock',
  'random',
];

function hostOf(host: unknown): { readonly host?: string } {
  if (host === undefined) return {};
  if (typeof host !== 'string' || host.length > MAX_HOST) throw invalidText('host', host, `text of at most ${MAX_HOST} characters`);
  return { host };
}

/** The longest name of the Domain Name System has 253 characters. */
const MAX_HOST = 255;

/** The keys bound to the lease: an election's entry and the leader's record, a group's one key. */
const KEYS = { election: 2, group: 1 };

/** How many calls of its elections a member makes at the same time. */
const CALLS_AT_ONCE = 32;

/**
 * Takes part in elections and groups on one store, with one lease for all of them. Takes further
 * leases beyond `capabilities.maxKeysPerLease`; they end with the first one. The first campaign or
 * join takes the lease. An idle member does not keep the process alive.
 */
export class Member {
  readonly memberId: string;
  /** Unique to this `Member` object: it distinguishes a restarted process from the former one. */
  readonly incarnation: string;
  /** The durations in effect, with their defaults filled in. */
  readonly timing: Timing;

  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  readonly #context: ElectionContext;
  readonly #sessions: SessionPool;
  readonly #orphanCleaner: OrphanCleaner;
  readonly #rebalancer: Rebalancer;
  readonly #lookups: SuccessorLookups;
  readonly #reaper: ReaperMemberHandle | undefined;
  readonly #renewer: RenewerMemberHandle | undefined;
  readonly #closing = new AbortController();
  /** What the closing member calls of its elections and groups, whatever their values are. */
  readonly #elections = new Map<string, Pick<Election, 'campaignsEnded'>>();
  readonly #groups = new Map<string, Pick<Group, 'close'>>();
  readonly #leaderships = new Map<ManagedLeadership, LeaseSession>();
  /** Ends the `keepAlive` of the leaderships. Undefined if there are none. */
  #letGo: Cancel | undefined;
  /** The leaderships whose work may not have stopped, while the member closes. */
  readonly #draining = new Set<ManagedLeadership>();
  #closed: Promise<void> | undefined;
  /** Aborts when the close has ended. */
  readonly #closeEnded = new AbortController();

  static {
    explainDetached(Member, 'member');
  }

  /**
   * Does no I/O.
   *
   * @throws `INVALID_OPTION` or `INVALID_NAME`, also for durations that do not fit together.
   */
  constructor(store: Store, options: MemberOptions = {}) {
    checkStore(store);
    checkKnown('member', options, known);
    const clock = checkClock(options.clock);
    const random = checkRandom(options.random);
    this.memberId = checkName('memberId', options.memberId === undefined ? randomName(random, 12) : options.memberId);
    this.incarnation = randomName(random, 10);
    this.timing = resolveTiming(options, store.name, store.capabilities);
    const onDuplicate = checkOneOf('onDuplicate', options.onDuplicate, 'wait', ['wait', 'refuse', 'replace']);
    const everyMs = checkNumber('rebalanceEveryMs', options.rebalanceEveryMs, 30_000, { min: 100, max: 86_400_000 });
    this.#clock = clock;
    const self = { memberId: this.memberId, incarnation: this.incarnation };
    this.#telemetry = new Telemetry(checkLogger(options.logger), { ...storeFields(store), ...self });
    const facts = { store, clock, timing: this.timing, emit: this.#telemetry.emit.bind(this.#telemetry) };
    this.#reaper = checkReaper(options.reaper)?.join(facts);
    const renewer = checkRenewer(options.renewIn);
    const maxBlockedMs = checkMaxBlocked(options.maxBlockedMs, this.timing, renewer);
    this.#renewer = renewer?.join({ ...facts, maxBlockedMs });
    const origin = { ...hostOf(options.host), startedAt: clock.wall() };
    const helpers = { reaper: this.#reaper, renewer: this.#renewer };
    const common = { store, clock, random, timing: this.timing, telemetry: this.#telemetry, ...helpers };
    this.#sessions = new SessionPool({ ...common, ...self, origin, onDuplicate, drained: (session) => this.#drained(session) });
    this.#orphanCleaner = new OrphanCleaner(common);
    this.#rebalancer = new Rebalancer(clock, everyMs, this.#telemetry);
    const semaphore = new Semaphore(CALLS_AT_ONCE);
    this.#lookups = new SuccessorLookups(clock, semaphore);
    this.#context = {
      ...common,
      self,
      semaphore,
      orphanCleaner: this.#orphanCleaner,
      closing: this.#closing.signal,
      onLeading: (leadership, session, { rebalance, byArrival }) => {
        this.#letGo ??= clock.keepAlive();
        this.#leaderships.set(leadership, session);
        if (rebalance) this.#rebalancer.add(leadership);
        if (byArrival) this.#lookups.add(leadership);
      },
      onReleased: (leadership) => {
        this.#leaderships.delete(leadership);
        this.#lookups.remove(leadership);
        if (this.#leaderships.size > 0) return;
        this.#letGo?.();
        this.#letGo = undefined;
      },
      memberClosed: () => this.#memberClosed(),
    };
    const { endsEarly } = store.capabilities;
    if (endsEarly !== undefined) this.#telemetry.emit('storeEndsEarly', { why: endsEarly });
  }

  /**
   * `idle`: there is no lease. `live`: there is one. `suspect`: a renewal is overdue. `closed`: the
   * member was closed.
   */
  get state(): 'idle' | 'live' | 'suspect' | 'closed' {
    if (this.#closing.signal.aborted) return 'closed';
    return this.#sessions.state;
  }

  /**
   * This member's part in an election. Does no I/O. Returns the same object for the same name; pass
   * options only in the first call.
   *
   * @throws `INVALID_NAME` or `INVALID_OPTION`. `WEAK_STORE`. `MEMBER_CLOSED`.
   */
  election<V = unknown>(name: string, options?: ElectionOptions<V>): Election<V> {
    this.#checkOpen();
    return findOrMake(
      this.#elections,
      checkName('election', name),
      options,
      () => new Election<V>(this.#context, this.#sessions.reserve(KEYS.election), name, options ?? {}),
    );
  }

  /**
   * This member's part in a group. Does no I/O. Returns the same object for the same name; pass
   * options only in the first call.
   *
   * @throws `INVALID_NAME` or `INVALID_OPTION`. `MEMBER_CLOSED`.
   */
  group<V = unknown>(name: string, options?: GroupOptions<V>): Group<V> {
    this.#checkOpen();
    return findOrMake(
      this.#groups,
      checkName('group', name),
      options,
      () => new Group<V>(this.#context, this.#sessions.reserve(KEYS.group), name, options ?? {}),
    );
  }

  /**
   * Hands over or resigns every leadership, then closes the member. `lead` resolves with the end of
   * the lease. Takes at most `timeoutMs`. Never rejects because of the store. Idempotent.
   *
   * @throws `INVALID_OPTION`.
   */
  async shutdown(options: ShutdownOptions = {}): Promise<void> {
    checkKnown('shutdown', options, ['handover', 'timeoutMs']);
    const { callTimeoutMs, drainMs } = this.timing;
    const timeoutMs = checkNumber('timeoutMs', options.timeoutMs, 3 * callTimeoutMs + drainMs, { min: 1, max: 86_400_000 });
    const { handover = 'next' } = options;
    if (![false, 'next'].includes(handover)) throw invalidOption('handover', handover, "'next' or false");
    const until = this.#clock.monotonic() + timeoutMs;
    const begun = this.#closed;
    const closed = this.#closeOnce((leadership) => leadership.close(handover), until);
    // An earlier call has begun the close, with its own limit. This call still has its `timeoutMs`.
    await keepAlive(this.#clock, () => (begun === undefined ? closed : this.#within(until, begun)));
  }

  /**
   * Calls `shutdown()` when the process receives one of these signals, usually
   * `shutdownOn('SIGTERM', 'SIGINT')`. The process then ends by itself if nothing else keeps it
   * alive. A second signal ends it at once, unless it follows within half a second: npm and
   * terminals may send one stop twice. A signal during a `shutdown()` or `close()` of the program
   * counts as the first one. Has no effect any more once the member is closed.
   *
   * @throws `INVALID_OPTION` for anything but the names of signals that ask a process to stop.
   */
  shutdownOn(...signals: readonly StopSignal[]): void {
    onStopSignal(signals, { clock: this.#clock, closed: this.#closeEnded.signal, stop: () => void this.shutdown() });
  }

  /**
   * Drains and resigns the leaderships, withdraws the campaigns and revokes the lease. Takes at
   * most `drainMs + 3 × callTimeoutMs`. If the store is unreachable, the keys stay until the lease
   * expires. Never rejects because of the store. Idempotent.
   */
  async close(): Promise<void> {
    await this.shutdown({ handover: false });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Closes the member, unless a call has begun that. */
  #closeOnce(end: (leadership: ManagedLeadership) => Promise<void>, until: number): Promise<void> {
    if (this.#closed !== undefined) return this.#closed;
    // Set first: the close ends leaderships, and a listener of their signals may call it again.
    const closed = Promise.withResolvers<void>();
    this.#closed = closed.promise;
    this.#close(end, until)
      .finally(() => endQuietly(this.#closeEnded))
      .then(closed.resolve, closed.reject);
    return closed.promise;
  }

  async #close(end: (leadership: ManagedLeadership) => Promise<void>, until: number): Promise<void> {
    for (const leadership of this.#leaderships.keys()) this.#countAsDraining(leadership);
    this.#closing.abort(new IncumbentError('MEMBER_CLOSED', `the member "${this.memberId}" was closed`));
    // Leaves time for the last call, which revokes the lease: its timeout, or half of the rest.
    const restMs = until - this.#clock.monotonic();
    const untilEnded = until - Math.min(this.timing.callTimeoutMs, restMs / 2);
    this.#rebalancer.close();
    this.#lookups.close();
    await this.#within(untilEnded, Promise.all([...this.#leaderships.keys()].map(end)));
    const campaignsEnded = [...this.#elections.values()].map((election) => election.campaignsEnded());
    const groupsLeft = [...this.#groups.values()].map((group) => group.close());
    await this.#within(untilEnded, Promise.all([...campaignsEnded, ...groupsLeft]));
    await this.#within(untilEnded, this.#orphanCleaner.close());
    await this.#within(until, this.#sessions.close());
    this.#sessions.abandon();
    await Promise.all([this.#reaper?.close(), this.#renewer?.close()]);
    this.#telemetry.emit('memberClosed');
  }

  #countAsDraining(leadership: ManagedLeadership): void {
    this.#draining.add(leadership);
    void leadership.drained.then(() => this.#draining.delete(leadership));
  }

  /**
   * Resolves when the member has closed. Resolves at once while work drains: the close waits for
   * that work, and the work may be awaiting another `lead` of this member, which awaits this.
   */
  async #memberClosed(): Promise<undefined> {
    if (this.#draining.size === 0) await this.#closed;
    return undefined;
  }

  /** Resolves when the drains of all leaderships of this session are over. */
  async #drained(session: LeaseSession): Promise<void> {
    const mine = [...this.#leaderships].filter(([, other]) => other === session);
    await Promise.all(mine.map(([leadership]) => leadership.drained));
  }

  /**
   * Settles as the task does, or resolves at this moment on the monotonic clock if the task still
   * runs then.
   */
  async #within(until: number, task: Promise<unknown>): Promise<void> {
    const over = new AbortController();
    const done = task.finally(() => over.abort());
    await sleep(this.#clock, until - this.#clock.monotonic(), over.signal);
    if (over.signal.aborted) await done;
  }

  #checkOpen(): void {
    if (this.#closing.signal.aborted) throw this.#closing.signal.reason;
  }
}

/**
 * Returns the election or group with this name, and creates it on first use. The caller vouches for
 * its type.
 */
function findOrMake<A, T extends A>(made: Map<string, A>, name: string, options: object | undefined, make: () => T): T {
  const before = made.get(name);
  if (before === undefined) {
    const fresh = make();
    made.set(name, fresh);
    return fresh;
  }
  if (options !== undefined) throw invalidOption('options', options, `left out: "${name}" was made before, with its own`);
  assumeSameType<A, T>(before);
  return before;
}

/** Only tells the compiler the type. */
function assumeSameType<A, T extends A>(_part: A): asserts _part is T {}
