/** An open membership in one process, on a manual clock. Tests can record and drop its messages. */

import { isIncumbentError, type Cancel, type Clock } from '@incumbent/core';
import { seeded } from '@incumbent/core/testing';
import { ManualClock } from '@incumbent/memory';
import {
  emergent,
  type EmergentAlgorithm,
  MemoryNetwork,
  PeerMember,
  type EmergentMessage,
  type EmergentOptions,
  type Frame,
  type Link,
  type PeerLeadership,
  type PeerMembership,
  type LinkOptions,
  type Transport,
} from '../../src/index.ts';
import { PairLogs } from '../pairs.ts';

export interface Player {
  readonly id: string;
  readonly member: PeerMember<'bestEffort'>;
  readonly clock: SkewedClock;
  leadership: PeerLeadership<'bestEffort'> | undefined;
  /** The reasons for which its leaderships have ended. */
  readonly ends: string[];
  /** The code of the error with which its campaign ended. */
  error: string | undefined;
  crashed: boolean;
}

/** A clock with a different wall time. */
class SkewedClock implements Clock {
  readonly #clock: Clock;
  offMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  wall(): number {
    return this.#clock.wall() + this.offMs;
  }

  schedule(delayMs: number, task: () => void): Cancel {
    return this.#clock.schedule(delayMs, task);
  }

  keepAlive(): Cancel {
    return this.#clock.keepAlive();
  }
}

export interface ClusterOptions extends Partial<EmergentOptions> {
  readonly seeds?: readonly string[] | (() => readonly string[] | Promise<readonly string[]>);
  /** The seed of the members' random numbers. Default: 0. */
  readonly chance?: number;
}

/** An event: a message, lost or not, or something that a member reports. */
export type Listener = (what: string) => void;

export class Cluster implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly players = new Map<string, Player>();
  readonly #options: Partial<EmergentOptions>;
  readonly #network: MemoryNetwork;
  readonly #listener: Listener;
  readonly #chance: number;
  readonly #links = new Map<string, Link>();
  readonly #starts = new Map<string, number>();
  readonly #logs = new PairLogs();
  /** The number of messages sent, by type. */
  readonly sent = new Map<string, number>();
  /** Whether the network drops a message. */
  isLost: (from: string, to: string, message: EmergentMessage) => boolean = () => false;

  constructor({ seeds = ['a'], chance = 0, ...options }: ClusterOptions = {}, listener: Listener = () => {}) {
    this.#chance = chance;
    this.#options = options;
    this.#listener = listener;
    this.#network = new MemoryNetwork({ clock: this.clock, latencyMs: 1, seeds });
  }

  /**
   * Starts a process with this id that campaigns all the time. With `standing: false`, it only
   * takes part.
   */
  start(id: string, { standing = true, ...options }: Partial<EmergentOptions> & { readonly standing?: boolean } = {}): Player {
    const clock = new SkewedClock(this.clock);
    const starts = (this.#starts.get(id) ?? 0) + 1;
    this.#starts.set(id, starts);
    const member = new PeerMember({
      algorithm: this.#algorithm(options),
      transport: this.#transport(() => player.crashed),
      memberId: id,
      clock,
      random: seeded(this.#chance * 100_000 + id.charCodeAt(0) * 100 + starts),
      logger: this.#logs.of(id),
    });
    const player: Player = { id, member, clock, leadership: undefined, ends: [], error: undefined, crashed: false };
    this.players.set(id, player);
    const tell = (what: string): void => (player.crashed ? undefined : this.#listener(`${id} ${what}`));
    // It rejects as the campaign does, when the member finds no members to join.
    this.#follow(player, tell).catch(() => {});
    if (standing)
      member
        .lead(async (leadership) => this.#serve(player, leadership, tell))
        .catch((error: unknown) => {
          player.error = isIncumbentError(error) ? error.code : String(error);
        });
    else void member.start();
    return player;
  }

  of(id: string): Player {
    return this.players.get(id)!;
  }

  /** Sends a message in that member's name. */
  says(from: string, to: string, message: EmergentMessage): void {
    this.#links.get(from)?.send(to, { configuration: this.#algorithm().configuration, message }, message.type);
  }

  /** Crashes a process. */
  crash(...ids: readonly string[]): void {
    for (const id of ids) {
      const player = this.of(id);
      player.crashed = true;
      this.players.delete(id);
      void player.member.close();
    }
  }

  /** Closes a member in the normal way. */
  async leave(...ids: readonly string[]): Promise<void> {
    const closing = ids.map((id) => this.of(id).member.shutdown());
    for (const id of ids) this.players.delete(id);
    await this.clock.run(Promise.all(closing));
  }

  /** Partitions the members: those of one side no longer receive messages of another. */
  split(...sides: readonly (readonly string[])[]): void {
    this.isLost = (from, to) => sides.some((side) => side.includes(from) !== side.includes(to));
  }

  heal(): void {
    this.isLost = () => false;
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  membership(id: string): PeerMembership | undefined {
    return this.of(id).member.membership;
  }

  /**
   * The list that these members share, as ids by age, or the list of each of them if they differ.
   */
  list(...ids: readonly string[]): string {
    const lists = (ids.length === 0 ? [...this.players.keys()] : ids).map((id) => shown(this.membership(id)));
    return new Set(lists).size === 1 ? lists[0]! : lists.join(' | ');
  }

  /** The members that lead. */
  get leaders(): string {
    return [...this.players.values()]
      .filter(({ leadership }) => leadership?.isValid() === true)
      .map(({ id }) => id)
      .join(' ');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clock.run(Promise.all([...this.players.values()].map(({ member }) => member.close())));
    this.#logs.check();
  }

  async #serve(player: Player, leadership: PeerLeadership<'bestEffort'>, tell: Listener): Promise<void> {
    player.leadership = leadership;
    tell(`leads round ${leadership.round}`);
    const { reason } = await leadership.ended;
    player.ends.push(reason);
    tell(`ends: ${reason}`);
  }

  async #follow({ member }: Player, tell: Listener): Promise<void> {
    let before: string | undefined = 'no list';
    for await (const membership of member.memberships()) {
      const now = membership === undefined ? 'no list' : `${membership.version} of ${membership.coordinator}: ${shown(membership)}`;
      if (now !== before) tell(`has ${now}`);
      before = now;
    }
  }

  #algorithm(options: Partial<EmergentOptions> = {}): EmergentAlgorithm {
    return emergent({ cluster: 'test', heartbeatEveryMs: 100, failureTimeoutMs: 500, ...this.#options, ...options });
  }

  #transport(isCrashed: () => boolean): Transport {
    return {
      open: async (options: LinkOptions): Promise<Link> => {
        const link = await this.#network.open(options);
        this.#links.set(options.memberId, link);
        return { ...link, send: (to, frame, sort) => (isCrashed() ? undefined : this.#send(link, options.memberId, to, frame, sort)) };
      },
    };
  }

  #send(link: Link, from: string, to: string, frame: Frame, sort: string): void {
    const message = frame.message as EmergentMessage;
    this.sent.set(message.type, (this.sent.get(message.type) ?? 0) + 1);
    const isLost = this.isLost(from, to, message);
    this.#listener(`${from} -> ${to}: ${said(message)}${isLost ? ', lost' : ''}`);
    if (!isLost) link.send(to, frame, sort);
  }
}

function shown(membership: PeerMembership | undefined): string {
  if (membership === undefined) return 'none';
  return membership.members.map(({ memberId, standing }) => (standing ? memberId : `(${memberId})`)).join(' ');
}

function said(message: EmergentMessage): string {
  switch (message.type) {
    case 'update':
    case 'probe':
    case 'invite':
      return `${message.type} ${message.list.version}`;
    case 'ack':
    case 'heartbeat':
      return `${message.type} ${message.version}`;
    case 'merge':
      return `merge into ${message.into.memberId}`;
    case 'seek':
      return `seek ${message.coordinator?.memberId ?? 'nobody'}`;
    default:
      return message.type;
  }
}

/** The members join one after the other, so that they are in the order of `ids`. */
export async function together(ids: readonly string[], options: ClusterOptions = {}): Promise<Cluster> {
  const cluster = new Cluster(options);
  for (const id of ids) {
    cluster.start(id);
    await cluster.pass(400);
  }
  return cluster;
}
