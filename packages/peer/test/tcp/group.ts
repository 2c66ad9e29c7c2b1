/** Several members over TCP, on the loopback address. */

import { freePort, LOOPBACK, startProxy, until, type Proxy } from '@incumbent/test-support';
import {
  MemoryStorage,
  PeerMember,
  quorum,
  TcpTransport,
  type PeerLeadership,
  type QuorumOptions,
  type TcpRefusalReason,
  type TcpTransportOptions,
  type Transport,
} from '../../src/index.ts';
import type { Receive } from '../../src/transport.ts';
import { PairLogs } from '../pairs.ts';

export const SECRET = 'a secret that all members know';
export const WAIT_MS = 20_000;

type Security = Partial<Pick<TcpTransportOptions, 'secret' | 'tls' | 'insecure'>>;

export interface TcpGroupOptions {
  /** The security of each member. Default: `SECRET`. */
  readonly security?: (memberId: string) => Security;
  readonly transport?: Partial<TcpTransportOptions>;
  readonly quorum?: Partial<QuorumOptions>;
  /** Called with each message that a member receives, before the member handles it. */
  readonly onMessage?: (receiver: string, message: unknown) => void;
}

export interface TcpMember {
  readonly transport: TcpTransport;
  readonly member: PeerMember<'quorum'>;
  /** While it leads. */
  leadership: PeerLeadership<'quorum'> | undefined;
}

export class TcpGroup {
  readonly ids: readonly string[];
  readonly ports: ReadonlyMap<string, number>;
  readonly members = new Map<string, TcpMember>();
  readonly #options: TcpGroupOptions;
  readonly #closing: (() => Promise<void>)[] = [];
  readonly #logs = new PairLogs();
  /** The relay in front of a member's port. */
  readonly #proxies = new Map<string, Proxy>();

  private constructor(ports: ReadonlyMap<string, number>, options: TcpGroupOptions) {
    this.ids = [...ports.keys()];
    this.ports = ports;
    this.#options = options;
  }

  static async make(ids: readonly string[], options: TcpGroupOptions = {}): Promise<TcpGroup> {
    const ports = new Map<string, number>();
    for (const id of ids) {
      let port = await freePort();
      while ([...ports.values()].includes(port)) port = await freePort();
      ports.set(id, port);
    }
    return new TcpGroup(ports, options);
  }

  /** Starts all members, and resolves when one leads. */
  static async elected(ids: readonly string[], options: TcpGroupOptions = {}): Promise<TcpGroup> {
    const group = await TcpGroup.make(ids, options);
    for (const id of ids) group.start(id);
    await group.leader();
    return group;
  }

  get addresses(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.ids.map((id) => [id, `${LOOPBACK}:${this.#proxies.get(id)?.port ?? this.ports.get(id)}`]));
  }

  /** From now on, members that are started dial this member through the relay. */
  async proxy(id: string): Promise<Proxy> {
    const proxy = await startProxy(`tcp://${LOOPBACK}:${this.ports.get(id)}`);
    this.#proxies.set(id, proxy);
    this.#closing.push(() => proxy.close());
    return proxy;
  }

  /** Creates a transport that is not open yet. It closes with the group. */
  transport(memberId: string, options: Partial<TcpTransportOptions> = {}): TcpTransport {
    const security = this.#options.security?.(memberId) ?? { secret: SECRET };
    const members = this.addresses;
    const listen = `${LOOPBACK}:${this.ports.get(memberId)}`;
    const transport = new TcpTransport({ memberId, members, listen, ...security, ...this.#options.transport, ...options });
    this.#closing.push(() => transport.close());
    return transport;
  }

  /** Starts a member that campaigns all the time. */
  start(memberId: string, options: Partial<TcpTransportOptions> = {}): TcpMember {
    const transport = this.transport(memberId, options);
    const member = this.member(transport, 'controller');
    const one: TcpMember = { transport, member, leadership: undefined };
    this.members.set(memberId, one);
    const work = async (leadership: PeerLeadership<'quorum'>): Promise<void> => {
      one.leadership = leadership;
      await leadership.ended;
      one.leadership = undefined;
    };
    member.lead(work).catch(() => {});
    return one;
  }

  member(transport: TcpTransport, election: string): PeerMember<'quorum'> {
    const algorithm = quorum({ members: this.ids, ...this.#options.quorum });
    const parts = { algorithm, transport: this.#observed(transport.election(election)), storage: new MemoryStorage() };
    const { memberId } = transport;
    const member = new PeerMember({ ...parts, memberId, logger: this.#logs.of(memberId) });
    this.#closing.push(() => member.close());
    return member;
  }

  #observed(transport: Transport): Transport {
    const { onMessage } = this.#options;
    if (onMessage === undefined) return transport;
    const open: Transport['open'] = async (options) => {
      const receive: Receive = (from, frame) => {
        onMessage(options.memberId, frame.message);
        options.receive(from, frame);
      };
      return transport.open({ ...options, receive });
    };
    return { open };
  }

  of(id: string): TcpMember {
    return this.members.get(id)!;
  }

  /** Waits until all members are connected and see the leader, and returns it. */
  async leader(): Promise<PeerLeadership<'quorum'>> {
    const find = (): PeerLeadership<'quorum'> | undefined => {
      const all = [...this.members.values()];
      const leadership = all.find((one) => one.leadership?.isValid())?.leadership;
      const isSeen = all.every(({ member: { current } }) => current.state === 'leader' && current.term === leadership?.term);
      const isJoined = all.every(({ transport }) =>
        all.every((other) => other.transport === transport || transport.connected.includes(other.transport.memberId)),
      );
      return isSeen && isJoined ? leadership : undefined;
    };
    return until(find, { what: 'a leader that all see', withinMs: WAIT_MS });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closing.toReversed()) await close();
    this.#logs.check();
  }
}

/** Waits until a transport has refused so many messages or connections for this reason. */
export async function refusals(transport: TcpTransport, reason: TcpRefusalReason, count = 1): Promise<void> {
  const what = (): string => `${count} refused as ${reason} by ${transport.memberId}: ${JSON.stringify(transport.refused)}`;
  await until(() => transport.refused[reason] >= count, { what: reason, withinMs: WAIT_MS }).catch((cause: unknown) => {
    throw new Error(what(), { cause });
  });
}
