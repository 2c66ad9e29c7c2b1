/**
 * The controller for one term: it watches the brokers, decides which brokers keep and lead each
 * partition, writes that to the store, and sends it to the brokers. Like Kafka's controller it
 * handles one event after the other. It keeps no state that is not in the store, so the next
 * controller can continue wherever this one stops.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Change,
  type Group,
  type GroupMember,
  isIncumbentError,
  isRetryable,
  type Leadership,
  type Revision,
  type Store,
} from 'incumbent';
import { Channel } from './channel.ts';
import { type Address, decode, encode, keyOf, PARTITIONS } from './keys.ts';
import {
  alterIsr,
  createTopic,
  preferLeaders,
  repair,
  spread,
  type AlterIsr,
  type Partition,
  type Partitions,
  type Topic,
} from './partitions.ts';

const RETRY_EVERY_MS = 50;
const READ_TIMEOUT_MS = 2_500;
/** How often it moves leadership to preferred replicas and balances brokers, in ms. */
const BALANCE_EVERY_MS = 1_000;
/** How long a leaving broker waits for other brokers to be informed, in ms. */
const TOLD_WITHIN_MS = 1_000;

export interface ControllerOptions {
  readonly leadership: Leadership<Address>;
  readonly store: Store;
  readonly brokers: Group<Address>;
  /** Sends to one broker; see {@link Channel}. */
  readonly tell: (url: string, term: bigint, partitions: Readonly<Record<string, Partition>>) => Promise<void>;
}

interface Broker {
  readonly incarnation: string;
  readonly channel: Channel;
}

export class Controller {
  readonly #options: ControllerOptions;
  readonly #brokers = new Map<string, Broker>();
  /**
   * Leaving brokers by incarnation, because a request of a broker's former process may arrive late.
   */
  readonly #leaving = new Set<string>();
  #partitions = new Map<string, Partition>();
  readonly #revisions = new Map<string, Revision>();
  #last: Promise<unknown> = Promise.resolve();
  /** Whether the store may have changes that this controller does not know. */
  #mustReload = true;

  constructor(options: ControllerOptions) {
    this.#options = options;
  }

  /**
   * Works until the leadership ends. Rejects when the store rejects a write because another
   * controller was elected; `lead` expects that.
   */
  async run(): Promise<void> {
    const { brokers, leadership } = this.#options;
    const { signal } = leadership;
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => {});
    const balancing = setInterval(() => void this.#event(() => this.#balance()).catch(failed.reject), BALANCE_EVERY_MS);
    try {
      await this.#event(() => this.#insist(async () => this.#see(await brokers.members({ signal }))));
      const watching = async (): Promise<void> => {
        for await (const members of brokers.views({ signal })) await this.#event(() => this.#see(members));
      };
      await Promise.race([watching(), failed.promise]);
    } finally {
      clearInterval(balancing);
      for (const { channel } of this.#brokers.values()) channel.close();
    }
  }

  async createTopic(topic: Topic): Promise<void> {
    const create = (partitions: Partitions): Partitions =>
      partitions.has(`${topic.topic}-0`) ? new Map() : createTopic(topic, this.#live);
    await this.#event(() => this.#until(create));
  }

  /** Resolves with the partition after the change. */
  async alterIsr(request: AlterIsr): Promise<Partition> {
    return this.#event(async () => {
      if (this.#mustReload) await this.#load();
      await this.#write(alterIsr(this.#partitions, request, this.#presence));
      const partition = this.#partitions.get(request.partition);
      if (partition === undefined) throw new RangeError(`there is no partition ${request.partition}`);
      return partition;
    });
  }

  /**
   * Called before a broker stops. Resolves when other brokers lead its partitions, as far as they
   * can, and know it.
   */
  async shutDown({ incarnation }: { readonly incarnation: string }): Promise<void> {
    await this.#event(async () => {
      this.#leaving.add(incarnation);
      await this.#repair();
    });
    const told = Promise.all([...this.#brokers.values()].map(({ channel }) => channel.told));
    await Promise.race([told, sleep(TOLD_WITHIN_MS, undefined, { ref: false })]);
  }

  async #balance(): Promise<void> {
    await this.#repair();
    await this.#until((partitions) => preferLeaders(partitions, this.#presence));
    await this.#until((partitions) => spread(partitions, this.#presence));
  }

  async #repair(): Promise<void> {
    await this.#until((partitions) => repair(partitions, this.#presence));
  }

  async #see(members: readonly GroupMember<Address>[]): Promise<void> {
    for (const [id, { channel, incarnation }] of this.#brokers) {
      if (members.some((member) => member.memberId === id && member.incarnation === incarnation)) continue;
      channel.close();
      this.#brokers.delete(id);
      this.#leaving.delete(incarnation);
    }
    const fresh = members.filter(({ memberId }) => !this.#brokers.has(memberId));
    for (const member of fresh) this.#brokers.set(member.memberId, { incarnation: member.incarnation, channel: this.#channelTo(member) });
    await this.#repair();
    for (const { memberId } of fresh) this.#brokers.get(memberId)?.channel.mark(this.#partitions.keys());
  }

  #channelTo({ value }: GroupMember<Address>): Channel {
    const { leadership, tell } = this.#options;
    return new Channel({
      tell: (partitions) => tell(value?.url ?? '', leadership.term, partitions),
      stateOf: (name) => this.#partitions.get(name),
      overtaken: (error) => this.#overtaken(error),
    });
  }

  #overtaken(error: Error): void {
    if (isIncumbentError(error, 'STALE_TERM')) this.#options.leadership.reportTerm(error.details.seen);
  }

  get #live(): ReadonlySet<string> {
    return new Set(this.#brokers.keys());
  }

  get #presence(): { readonly live: ReadonlySet<string>; readonly leaving: ReadonlySet<string> } {
    const leaving = [...this.#brokers].filter(([, { incarnation }]) => this.#leaving.has(incarnation)).map(([id]) => id);
    return { live: this.#live, leaving: new Set(leaving) };
  }

  /** Handles events one by one, so that each decision uses the writes of the previous one. */
  async #event<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task);
    this.#last = done.catch(() => {});
    return done;
  }

  /**
   * Applies changes until none is needed. After an unknown outcome it reads the store and decides
   * again.
   */
  async #until(decide: (partitions: Partitions) => Partitions): Promise<void> {
    await this.#insist(async () => {
      if (this.#mustReload) await this.#load();
      for (let changes = decide(this.#partitions); changes.size > 0; changes = decide(this.#partitions)) await this.#write(changes);
    });
  }

  /** Retries while the store is unavailable, until the leadership ends. */
  async #insist(task: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await task();
      } catch (error) {
        if (!isRetryable(error)) throw error;
      }
      this.#options.leadership.signal.throwIfAborted();
      await sleep(RETRY_EVERY_MS);
    }
  }

  /**
   * The fenced write: the store rejects it once another controller has been elected. After another
   * error its outcome may be unknown.
   */
  async #write(changes: Partitions): Promise<void> {
    const most = this.#options.store.capabilities.maxChanges - 1; // and the guard
    for (let names = [...changes.keys()]; names.length > 0; names = names.slice(most)) {
      const batch = names.slice(0, most);
      this.#mustReload = true;
      const result = await this.#options.leadership.swap(batch.flatMap((name) => this.#change(name, changes.get(name))));
      if (!result.swapped) return this.#load(); // an operator's hand
      this.#mustReload = false;
      for (const [index, name] of batch.entries()) this.#note(name, changes.get(name), result.revisions[index]);
      this.#tell(batch);
    }
  }

  #change(name: string, partition: Partition | undefined): readonly Change[] {
    if (partition === undefined) return [];
    const put = encode({ term: this.#options.leadership.term, partition });
    return [{ key: keyOf(name), expect: this.#revisions.get(name) ?? null, put }];
  }

  async #load(): Promise<void> {
    const entries = await this.#options.store.list(PARTITIONS, { timeoutMs: READ_TIMEOUT_MS });
    const before = this.#partitions;
    this.#partitions = new Map();
    this.#revisions.clear();
    for (const entry of entries) this.#note(entry.name, decode(entry).partition, entry.revision);
    this.#mustReload = false;
    this.#tell([...this.#partitions].filter(([name, { version }]) => before.get(name)?.version !== version).map(([name]) => name));
  }

  #note(name: string, partition: Partition | undefined, revision: Revision | undefined): void {
    if (partition === undefined || revision === undefined) return;
    this.#partitions.set(name, partition);
    this.#revisions.set(name, revision);
  }

  #tell(partitions: readonly string[]): void {
    for (const { channel } of this.#brokers.values()) channel.mark(partitions);
  }
}
