/**
 * The controller, for one term: it sees brokers come and go, decides who keeps and who leads each partition, writes that to the store, and tells the brokers. One
 * event after the other, as in Kafka's. It remembers nothing that the store does not have, so that the next one goes on where this one stopped, wherever that was.
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
/** How often it sees to it that preferred replicas lead, and brokers keep their share. */
const BALANCE_EVERY_MS = 1_000;
/** A broker that leaves is not kept longer by others that do not answer. */
const TOLD_WITHIN_MS = 1_000;

export interface ControllerOptions {
  readonly leadership: Leadership<Address>;
  readonly store: Store;
  readonly brokers: Group<Address>;
  /** Tells one broker; see {@link Channel}. */
  readonly tell: (url: string, term: bigint, partitions: Readonly<Record<string, Partition>>) => Promise<void>;
}

interface Broker {
  readonly incarnation: string;
  readonly channel: Channel;
}

export class Controller {
  readonly #options: ControllerOptions;
  readonly #brokers = new Map<string, Broker>();
  /** By their incarnations: a word of one that was restarted since may come late. */
  readonly #leaving = new Set<string>();
  #partitions = new Map<string, Partition>();
  readonly #revisions = new Map<string, Revision>();
  #last: Promise<unknown> = Promise.resolve();
  /** The store may have what this controller does not know of. */
  #inDoubt = true;

  constructor(options: ControllerOptions) {
    this.#options = options;
  }

  /** For as long as it leads. Rejects when a write is refused, as another has been elected: `lead` takes that for what it is. */
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

  /** As the partition is then. */
  async alterIsr(request: AlterIsr): Promise<Partition> {
    return this.#event(async () => {
      if (this.#inDoubt) await this.#load();
      await this.#write(alterIsr(this.#partitions, request, this.#presence));
      const partition = this.#partitions.get(request.partition);
      if (partition === undefined) throw new RangeError(`there is no partition ${request.partition}`);
      return partition;
    });
  }

  /** Before a broker stops: resolves when it leads nothing any more, as far as others can take over, and they know. */
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
    if (!isIncumbentError(error)) return;
    const { seen } = error.details;
    if (typeof seen === 'bigint') this.#options.leadership.reportTerm(seen);
  }

  get #live(): ReadonlySet<string> {
    return new Set(this.#brokers.keys());
  }

  get #presence(): { readonly live: ReadonlySet<string>; readonly leaving: ReadonlySet<string> } {
    const leaving = [...this.#brokers].filter(([, { incarnation }]) => this.#leaving.has(incarnation)).map(([id]) => id);
    return { live: this.#live, leaving: new Set(leaving) };
  }

  /** Events wait for one another, so that each decides on what the one before has written. */
  async #event<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task);
    this.#last = done.catch(() => {});
    return done;
  }

  /** Makes changes until there are none to make. Where nobody knows what came of one, it looks at the store, and decides again. */
  async #until(decide: (partitions: Partitions) => Partitions): Promise<void> {
    await this.#insist(async () => {
      if (this.#inDoubt) await this.#load();
      for (let changes = decide(this.#partitions); changes.size > 0; changes = decide(this.#partitions)) await this.#write(changes);
    });
  }

  /** Again while the store is away, for as long as this controller leads. */
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

  /** The fenced write: the store refuses it once another has been elected. Where it rejects, nobody may know what came of it. */
  async #write(changes: Partitions): Promise<void> {
    const most = this.#options.store.capabilities.maxChanges - 1; // and the guard
    for (let names = [...changes.keys()]; names.length > 0; names = names.slice(most)) {
      const batch = names.slice(0, most);
      this.#inDoubt = true;
      const result = await this.#options.leadership.swap(batch.flatMap((name) => this.#change(name, changes.get(name))));
      if (!result.swapped) return this.#load(); // an operator's hand
      this.#inDoubt = false;
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
    this.#inDoubt = false;
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
