/**
 * A broker: it joins the group of brokers, campaigns to be the controller, keeps the replicas that
 * the controller assigns, and serves clients and the other brokers.
 */

import { mkdirSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { type Election, ElectionObserver, Fence, type Group, isIncumbentError, type Leadership, Member, type Store } from 'incumbent';
import { Controller } from './controller.ts';
import type { BrokerEventBody, Refusal } from './events.ts';
import type { Faults } from './faults.ts';
import { acceptAnyStore, type Address, addressShape, ELECTION, GROUP } from './keys.ts';
import type { Peers } from './leader.ts';
import {
  type Append,
  appendReplyShape,
  appendShape,
  leavingShape,
  fetchShape,
  handoverShape,
  leaderAndIsrShape,
  nothing,
  produceShape,
  topicShape,
} from './messages.ts';
import { type AlterIsr, alterIsrShape, type Partition, partitionShape } from './partitions.ts';
import { Replica } from './replica.ts';
import { call, Elsewhere, type Handler, type Routes, serve, Unavailable } from './wire.ts';

const CALL_TIMEOUT_MS = 2_000;
const FETCH_AT_ONCE = 1_000;

export interface BrokerOptions {
  readonly store: Store;
  readonly brokerId: string;
  readonly ttlMs: number;
  /** The folder of its replicas, which outlives restarts. */
  readonly folder: string;
  /** The port to listen on, if it is free; 0 for any. */
  readonly port: number;
  readonly faults: Faults;
  /** Called with every event. */
  readonly tell: (told: BrokerEventBody) => void;
  /** Called when it has been elected controller, before it does anything. */
  readonly elected: (leadership: Leadership<Address>) => void;
  /** Additional routes, such as the page. */
  readonly routes: (broker: Broker) => Routes;
}

export class Broker {
  readonly id: string;
  readonly url: string;
  readonly group: Group<Address>;
  readonly election: Election<Address>;
  readonly observer: ElectionObserver<Address>;
  readonly replicas = new Map<string, Replica>();
  /** Every partition, as the controller has sent it. */
  readonly partitions = new Map<string, Partition>();
  readonly #options: BrokerOptions;
  readonly #member: Member;
  readonly #server: Server;
  /** Rejects controllers with a term below the highest one that this broker has seen. */
  readonly #fence: Fence;
  readonly #urls = new Map<string, string>();
  #controller: Controller | undefined;

  private constructor(options: BrokerOptions, parts: { server: Server; url: string; observer: ElectionObserver<Address>; term: bigint }) {
    this.#options = options;
    this.id = options.brokerId;
    this.url = parts.url;
    this.observer = parts.observer;
    this.#server = parts.server;
    // A new fence has seen no term. It starts with the present term, so that it rejects a
    // controller from before this start.
    this.#fence = new Fence({ highest: parts.term });
    const { store, brokerId: memberId, ttlMs } = options;
    const shown = { value: { url: parts.url }, parse: addressShape };
    this.#member = new Member(store, { memberId, ttlMs });
    this.group = this.#member.group<Address>(GROUP, shown);
    this.election = this.#member.election<Address>(ELECTION, { ...shown, ...acceptAnyStore(store) });
  }

  /**
   * Resolves when it has joined the group. It campaigns until it is shut down; `finished` settles
   * then.
   */
  static async start(options: BrokerOptions): Promise<{ readonly broker: Broker; readonly finished: Promise<void> }> {
    mkdirSync(options.folder, { recursive: true });
    const routes: Record<string, Handler> = {};
    const { server, url } = await serve(routes, options.port);
    const observer = new ElectionObserver<Address>(options.store, ELECTION, { parse: addressShape });
    await observer.ready;
    const { current } = observer;
    const term = current.state === 'unknown' ? undefined : current.term;
    const broker = new Broker(options, { server, url, observer, term: term ?? 0n });
    Object.assign(routes, broker.#routes(), options.routes(broker));
    broker.group.subscribe((members) => {
      for (const { memberId, value } of members) if (value !== undefined) broker.#urls.set(memberId, value.url);
    });
    await broker.group.join();
    return { broker, finished: broker.#campaign() };
  }

  urlOf(broker: string): string | undefined {
    return this.#urls.get(broker);
  }

  /**
   * Controlled shutdown: moves its partitions to other leaders, hands the controller's election
   * over, and ends.
   */
  async shutDown(): Promise<void> {
    const { incarnation } = this.#member;
    try {
      if (this.#controller !== undefined) await this.#controller.shutDown({ incarnation });
      else await call(this.#controllerUrl('/shut-down'), '', { incarnation }, { reply: nothing, timeoutMs: CALL_TIMEOUT_MS });
    } catch {
      // There is no controller now, or it is slow. The partitions then move as after a crash.
    }
    await this.#member.shutdown();
    await this.observer.close();
    this.#server.close();
    this.#server.closeAllConnections();
    for (const replica of this.replicas.values()) replica.close();
  }

  /** Works as the controller in every term in which it is elected. */
  async #campaign(): Promise<void> {
    await this.election.lead((leadership) => this.#control(leadership));
  }

  async #control(leadership: Leadership<Address>): Promise<void> {
    const { store, tell, faults, elected } = this.#options;
    const { term } = leadership;
    elected(leadership);
    tell({ type: 'elected', term });
    void leadership.ended.then(({ reason }) => tell({ type: 'ended', term, reason }));
    const controller = new Controller({
      leadership,
      store,
      brokers: this.group,
      tell: async (url, by, partitions) => {
        if (url !== this.url) faults.pass('request');
        faults.check();
        await call(url, '/leader-and-isr', { controller: this.id, term: by, partitions }, { reply: nothing, timeoutMs: CALL_TIMEOUT_MS });
      },
    });
    this.#controller = controller;
    try {
      await controller.run();
    } finally {
      this.#controller = undefined;
    }
  }

  #routes(): Routes {
    const routes: Routes = {
      'POST /leader-and-isr': (body) => this.#leaderAndIsr(body),
      'POST /append': (body) => this.#append(appendShape(body)),
      'POST /produce': (body) => this.#produce(body),
      'POST /fetch': (body) => this.#fetch(body),
      'POST /alter-isr': (body) => this.#asController('/alter-isr').alterIsr(alterIsrShape(body)),
      'POST /create-topic': (body) => this.#asController('/create-topic').createTopic(topicShape(body)),
      'POST /shut-down': (body) => this.#asController('/shut-down').shutDown(leavingShape(body)),
      'POST /hand-over': (body) => this.#handOver(body),
    };
    return Object.fromEntries(Object.entries(routes).map(([path, handler]) => [path, this.#unlessCutOff(handler)]));
  }

  #unlessCutOff(handler: Handler): Handler {
    return (body, exchange) => {
      if (!this.#options.faults.isCutOff) return handler(body, exchange);
      exchange.response.destroy();
      return undefined;
    };
  }

  #leaderAndIsr(body: unknown): void {
    const { controller, term, partitions } = leaderAndIsrShape(body);
    const before = this.#fence.highest;
    this.#admit({ by: 'broker', what: 'LeaderAndIsr', from: controller, stale: term }, () => this.#fence.admit(term));
    if (term > before) this.#options.tell({ type: 'heard', term });
    for (const [name, partition] of Object.entries(partitions)) {
      const known = this.partitions.get(name);
      if (known !== undefined && known.version >= partition.version) continue;
      this.partitions.set(name, partition);
      this.#keep(name, partition);
    }
  }

  #keep(name: string, partition: Partition): void {
    const { folder, tell } = this.#options;
    if (!partition.replicas.includes(this.id)) {
      this.replicas.get(name)?.remove();
      this.replicas.delete(name);
      return;
    }
    const changed = (leads: boolean, epoch: number): void => tell({ type: leads ? 'leads' : 'follows', partition: name, epoch });
    const make = (): Replica =>
      new Replica({ partition: name, self: this.id, path: join(folder, `${name}.log`), peers: this.#peers, changed });
    const replica = this.replicas.get(name) ?? make();
    this.replicas.set(name, replica);
    replica.apply(partition);
  }

  readonly #peers: Peers = {
    append: async (broker, request) => {
      const { again } = await this.#call(this.#urls.get(broker), '/append', request, appendReplyShape, CALL_TIMEOUT_MS);
      return again ?? undefined;
    },
    alterIsr: async (request: AlterIsr) => {
      if (this.#controller !== undefined) return this.#controller.alterIsr(request);
      return this.#call(this.#controllerUrl(''), '/alter-isr', request, partitionShape, CALL_TIMEOUT_MS);
    },
  };

  async #call<T>(url: string | undefined, path: string, body: unknown, reply: (value: unknown) => T, timeoutMs: number): Promise<T> {
    this.#options.faults.check();
    if (url === undefined) throw new Unavailable('its address is not known');
    return call(url, path, body, { reply, timeoutMs });
  }

  #append(request: Append): { readonly again: number | null } {
    const replica = this.replicas.get(request.partition);
    if (replica === undefined) throw new Unavailable(`${this.id} keeps no ${request.partition}, as far as it was told`);
    const append = (): number | undefined => replica.append(request);
    const { partition, leader, leaderEpoch } = request;
    const sent = { by: 'replica', what: `append to ${partition}`, from: leader, stale: BigInt(leaderEpoch) } as const;
    return { again: this.#admit(sent, append) ?? null };
  }

  async #produce(body: unknown): Promise<{ readonly offset: number }> {
    const { partition, values } = produceShape(body);
    return { offset: await this.#asLeader(partition, '/produce').leader.produce(values) };
  }

  #fetch(body: unknown): { readonly values: readonly string[]; readonly committed: number } {
    const { partition, from } = fetchShape(body);
    const replica = this.#asLeader(partition, '/fetch');
    return { values: replica.read(from, FETCH_AT_ONCE), committed: replica.committed };
  }

  async #handOver(body: unknown): Promise<void> {
    const { to } = handoverShape(body);
    const { leadership } = this.election;
    if (leadership === undefined) throw new Elsewhere(this.#controllerUrl('/hand-over'));
    await leadership.handover(to);
  }

  /** Passes on the fence's result, and reports a rejection. */
  #admit<T>(sent: Omit<Refusal, 'seen'>, admit: () => T): T {
    try {
      return admit();
    } catch (error) {
      if (isIncumbentError(error, 'STALE_TERM')) this.#options.tell({ type: 'refused', ...sent, seen: error.details.seen });
      throw error;
    }
  }

  #asLeader(partition: string, path: string): Replica {
    const replica = this.replicas.get(partition);
    if (replica?.leads === true) return replica;
    const leader = this.partitions.get(partition)?.leader ?? undefined;
    const url = leader === undefined || leader === this.id ? undefined : this.#urls.get(leader);
    if (url === undefined) throw new Unavailable(`${partition} has no leader that ${this.id} knows of`);
    throw new Elsewhere(`${url}${path}`);
  }

  #asController(path: string): Controller {
    if (this.#controller === undefined) throw new Elsewhere(this.#controllerUrl(path));
    return this.#controller;
  }

  #controllerUrl(path: string): string {
    const { current } = this.observer;
    const url = current.state === 'leader' && current.memberId !== this.id ? current.value?.url : undefined;
    if (url === undefined) throw new Unavailable('there is no controller now, as far as is known');
    return `${url}${path}`;
  }
}
