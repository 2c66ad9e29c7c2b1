/**
 * An open membership over real sockets. Each member has a port, a transport and a leader's work of
 * its own.
 */

import { freePort, LOOPBACK, until } from '@incumbent/test-support';
import {
  emergent,
  PeerMember,
  TcpTransport,
  type EmergentOptions,
  type PeerLeadership,
  type TcpTransportOptions,
} from '../../src/index.ts';
import { PairLogs } from '../pairs.ts';
import { SECRET } from './group.ts';
import { Relay } from './relay.ts';

export interface Attendee {
  readonly id: string;
  readonly transport: TcpTransport;
  readonly member: PeerMember<'bestEffort'>;
  leadership: PeerLeadership<'bestEffort'> | undefined;
  /** The reasons for which its leaderships have ended. */
  readonly ends: string[];
}

export class TcpCrowd implements AsyncDisposable {
  readonly relay = new Relay();
  readonly attendees = new Map<string, Attendee>();
  readonly #options: EmergentOptions;
  readonly #security: (id: string) => Partial<TcpTransportOptions>;
  readonly #seeds: Record<string, string> = {};
  readonly #logs = new PairLogs();

  constructor(options: EmergentOptions, security: (id: string) => Partial<TcpTransportOptions> = () => ({ secret: SECRET })) {
    this.#options = options;
    this.#security = security;
  }

  /**
   * Starts a member that campaigns all the time. `isSeed`: members that start later know its
   * address.
   */
  async start(
    id: string,
    isSeed = false,
    options: Partial<EmergentOptions> = {},
    more: Partial<TcpTransportOptions> = {},
  ): Promise<Attendee> {
    const port = await freePort();
    // A relay cannot read what TLS encrypts.
    const isPlain = this.#security(id).tls === undefined;
    const address = `${LOOPBACK}:${isPlain ? await this.relay.before(id, port) : port}`;
    if (isSeed) this.#seeds[id] = address;
    const transport = new TcpTransport({
      memberId: id,
      seeds: { ...this.#seeds },
      address,
      listen: `${LOOPBACK}:${port}`,
      ...this.#security(id),
      ...more,
    });
    const algorithm = emergent({ ...this.#options, ...options });
    const logger = this.#logs.of(id);
    const member = new PeerMember({ algorithm, transport: transport.election('controller'), memberId: id, logger });
    const one: Attendee = { id, transport, member, leadership: undefined, ends: [] };
    this.attendees.set(id, one);
    const work = async (leadership: PeerLeadership<'bestEffort'>): Promise<void> => {
      one.leadership = leadership;
      one.ends.push((await leadership.ended).reason);
      one.leadership = undefined;
    };
    member.lead(work).catch(() => {});
    return one;
  }

  of(...ids: readonly string[]): readonly Attendee[] {
    return ids.map((id) => this.attendees.get(id)!);
  }

  /** Crashes a member. */
  async kill(id: string): Promise<void> {
    const { transport, member } = this.attendees.get(id)!;
    this.attendees.delete(id);
    await transport.close();
    await member.close();
  }

  /**
   * Resolves with the leader, once all live members have each other, and nobody else, in one
   * version of the list.
   */
  async agreed(among: readonly Attendee[], withinMs: number): Promise<string> {
    const what = (): string =>
      among
        .map(({ id, member: { membership: list } }) => `${id} ${list?.version} of ${list?.coordinator}: ${list?.members.length}`)
        .join('; ');
    try {
      await until(() => isAgreed(among), { what: 'a list that all have', withinMs });
    } catch (cause) {
      throw new Error(what(), { cause });
    }
    return among[0]!.member.membership!.coordinator;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.attendees.values()];
    await Promise.all(all.map(({ member }) => member.close()));
    await Promise.all(all.map(({ transport }) => transport.close()));
    await this.relay[Symbol.asyncDispose]();
    this.#logs.check();
  }
}

function isAgreed(among: readonly Attendee[]): boolean {
  const lists = among.map(({ member }) => member.membership);
  const [first] = lists;
  if (first === undefined || first.members.length !== among.length) return false;
  const leaders = among.filter(({ leadership }) => leadership?.isValid() === true).map(({ id }) => id);
  const isSame = lists.every((list) => list?.version === first.version && list.coordinator === first.coordinator);
  return isSame && leaders.length === 1 && leaders[0] === first.coordinator;
}
