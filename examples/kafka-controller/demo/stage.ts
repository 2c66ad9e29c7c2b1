/**
 * What every act of the demo needs: the controller, the partitions, and the wait for the next
 * controller.
 */

import { Member, type CandidateView, type Election, type Store } from 'incumbent';
import { acceptAnyStore, decode, ELECTION, PARTITIONS } from '../keys.ts';
import { nothing } from '../messages.ts';
import type { Partition } from '../partitions.ts';
import { now } from '../events.ts';
import { call } from '../wire.ts';
import type { BrokerProcess } from './broker-process.ts';
import { type Cluster, heardOf } from './cluster.ts';
import { controllers, gaps } from './gaps.ts';
import type { Act, ActName } from './history.ts';
import { bad, good, ms, names, type Screen, who } from './screen.ts';
import { untilAnswered } from './until-answered.ts';

/**
 * Added to what the store guarantees, in ms. A limit must show what is broken, not what is slow.
 */
const SLACK_MS = 5_000;
/** How long processes may take to start, to join, and to catch up. */
const START_WITHIN_MS = 60_000;
/** How often the store is read, in ms. */
const ASK_EVERY_MS = 50;
const BETWEEN_ACTS_MS = 500;
const CALL = { timeoutMs: 2_500 };

/** A promise was broken so that the story cannot go on. The history says which. */
export class StoryEnds extends Error {}

export interface Expected {
  /** The former controller. */
  readonly controller?: BrokerProcess;
  readonly named?: string;
  /** The next controller's first report has this position among all reports, or a later one. */
  readonly since: number;
  readonly begun: number;
}

export class Stage {
  readonly cluster: Cluster;
  readonly screen: Screen;
  readonly acts: Act[] = [];
  /** The limit for the time without a controller, in ms. */
  readonly limitMs: number;
  /** Whether people watch the page. */
  readonly serve: boolean;
  readonly #store: Store;
  readonly #expiryMs: number;
  readonly #election: Election;

  constructor(store: Store, { cluster, screen, serve }: { cluster: Cluster; screen: Screen; serve: boolean }) {
    this.serve = serve;
    this.cluster = cluster;
    this.screen = screen;
    this.#store = store;
    this.#expiryMs = store.capabilities.expiresWithinMs(cluster.options.ttlMs);
    this.limitMs = this.#expiryMs + SLACK_MS;
    // A member that never campaigns has no lease, and can read who campaigns.
    this.#election = new Member(store).election(ELECTION, acceptAnyStore(store));
  }

  /** The controller's process, according to the brokers' reports. */
  get controller(): BrokerProcess {
    const last = heardOf(this.cluster.heard, 'elected').at(-1);
    if (last === undefined) throw new Error('there is no controller yet');
    return this.cluster.running(last.broker);
  }

  /** Addresses of the live brokers. */
  get urls(): readonly string[] {
    return this.cluster.alive.flatMap(({ broker }) => this.cluster.urls.get(broker) ?? []);
  }

  urlOf(broker: BrokerProcess): string {
    return this.cluster.urls.get(broker.broker) ?? '';
  }

  /** Starts brokers, and waits until they have joined. */
  async start(...brokers: readonly string[]): Promise<void> {
    const processes = brokers.map((broker) => this.cluster.start(broker));
    for (const process of processes) await this.#orGone(process.ready);
  }

  async createTopic(topic: string, partitions: number): Promise<void> {
    const create = async (): Promise<true | undefined> => {
      const asked = this.send(this.urls[0] ?? '', '/create-topic', { topic, partitions, replicationFactor: 3 });
      return asked.then(
        () => true,
        () => undefined,
      );
    };
    if ((await this.cluster.until(create, START_WITHIN_MS, ASK_EVERY_MS)) === undefined)
      throw new Error(`no controller would create the topic ${topic}`);
  }

  async send(url: string, path: string, body: unknown): Promise<void> {
    await call(url, path, body, { reply: nothing, timeoutMs: 2_000 });
  }

  async partitions(): Promise<ReadonlyMap<string, Partition>> {
    const entries = await untilAnswered(async () => this.#store.list(PARTITIONS, CALL));
    return new Map(entries.map((entry) => [entry.name, decode(entry).partition]));
  }

  /**
   * Waits until every partition is led by its preferred replica, all replicas are in sync, and
   * nothing moves.
   */
  async settled(): Promise<void> {
    const isSettled = async (): Promise<true | undefined> => {
      const partitions = [...(await this.partitions()).values()];
      const isFine = ({ target, leader, replicas, isr }: Partition): boolean =>
        target === null && leader === replicas[0] && isr.length === replicas.length;
      return partitions.length > 0 && partitions.every(isFine) ? true : undefined;
    };
    if ((await this.screen.during('catching up', this.cluster.until(isSettled, START_WITHIN_MS, ASK_EVERY_MS))) === undefined)
      throw new Error(`the partitions were not in order within ${START_WITHIN_MS / 1_000} s`);
  }

  /**
   * Waits until every partition has a leader other than this broker, and all others know the new
   * controller.
   */
  async ledBy(others: { readonly than: string }): Promise<void> {
    const isLed = async (): Promise<true | undefined> => (this.cluster.isLedBy(others, await this.partitions()) ? true : undefined);
    if ((await this.screen.during('partitions without a leader', this.cluster.until(isLed, this.limitMs, ASK_EVERY_MS))) === undefined)
      throw new StoryEnds();
  }

  /** The candidates that wait, the next one first. */
  async inLine(): Promise<readonly string[]> {
    return (await this.#candidates()).filter(({ leads }) => !leads).map(({ memberId }) => memberId);
  }

  /**
   * Waits until keys of an earlier, killed demo have expired. Throws if the keys belong to somebody
   * else.
   */
  async untilFree(): Promise<void> {
    const free = this.cluster.until(async () => ((await this.#candidates()).length === 0 ? true : undefined), this.#expiryMs, ASK_EVERY_MS);
    if ((await this.screen.during('waiting for the leases of an earlier demo', free)) !== undefined) return;
    throw new Error(`others campaign for "${ELECTION}" on this store: is another demo running?`);
  }

  /** Waits until this many other candidates wait, and prints them. */
  async tellLine(others: number): Promise<void> {
    const line = await this.cluster.until(
      async () => {
        const inLine = await this.inLine();
        return inLine.length >= others ? inLine : undefined;
      },
      START_WITHIN_MS,
      ASK_EVERY_MS,
    );
    if (line === undefined) throw new Error(`the others were not in line within ${START_WITHIN_MS / 1_000} s`);
    this.screen.note(`in line: ${names(line)}`);
  }

  /** Waits for the next controller, and prints who it is. */
  async succeeds({ since, controller }: Expected): Promise<string | undefined> {
    const withinMs = controller === undefined ? START_WITHIN_MS : this.limitMs;
    const heard = await this.screen.during('there is no controller', this.cluster.waitForEvent('elected', { withinMs, since }));
    if (heard === undefined) {
      this.screen.tell(bad('✗'), 'nobody is elected');
      return undefined;
    }
    this.screen.tell(good('●'), `${who(heard.broker)} is the controller, in term ${heard.event.term}`);
    return heard.broker;
  }

  /** Records an act with its result and cost. Ends the demo if nobody was elected in it. */
  conclude(name: ActName, { controller, named, since, begun }: Expected): void {
    const ended = now();
    const vacancies = gaps(controllers(this.cluster), ended).filter(({ from }) => from >= begun);
    const vacancyMs = Math.max(0, ...vacancies.map(({ from, to }) => to - from));
    const last = heardOf(this.cluster.heard.slice(since), 'elected').at(-1);
    const next = last === undefined ? undefined : { broker: last.broker, term: last.event.term };
    this.acts.push({ name, from: controller?.broker, named, next, vacancyMs, limitMs: this.limitMs, begun, ended });
    if (next === undefined) throw new StoryEnds();
    if (controller !== undefined) this.screen.note(`without a controller for ${ms(vacancyMs)}`);
  }

  /** Waits, so that people can read and brokers can work. Throws if a broker crashes meanwhile. */
  async between(): Promise<void> {
    await this.cluster.until(() => undefined, BETWEEN_ACTS_MS);
  }

  async #orGone<T>(ready: Promise<T>): Promise<T> {
    const { signal } = this.cluster.options;
    const gone = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => gone.reject(signal.reason), { once: true });
    return Promise.race([ready, gone.promise]);
  }

  async #candidates(): Promise<readonly CandidateView[]> {
    return untilAnswered(async () => this.#election.candidates());
  }
}
