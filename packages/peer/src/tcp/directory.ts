/** Keeps the connections of a transport, and decides which of two members dials. */

import type { Socket } from 'node:net';
import { invalidOption, invalidText } from '@incumbent/core/adapter';
import type { Endpoint } from '@incumbent/network';
import type { LinkOptions } from '../transport.ts';
import { type DialerContext, keepConnected } from './dialer.ts';
import type { Handshake } from './handshake.ts';
import { Neighbour, type NeighbourContext } from './neighbour.ts';
import { Refused } from './refusal.ts';
import type { Wire } from './wire.ts';

/** Opens a socket to a member at a known address. */
type Connect = (memberId: string, endpoint: Endpoint, signal: AbortSignal) => Promise<Socket>;

export interface DirectoryContext {
  readonly memberId: string;
  readonly neighbour: NeighbourContext;
  readonly dialer: Omit<DialerContext, 'connect' | 'isPreferred'>;
  readonly connect: Connect;
}

/** Any method may be called before `begin`. */
export interface Directory {
  readonly neighbours: Iterable<Neighbour>;
  /** Throws if this transport cannot serve an election with these options. */
  admit(options: LinkOptions): void;
  /** The transport's port is open, so dialling may start. Called once. */
  begin(): void;
  /** An election has opened. The returned function must be called when it closes. */
  enter(options: LinkOptions): () => void;
  /**
   * Why a process that claims this id is refused before it proves the id. Undefined: the directory
   * sees no reason.
   */
  claimed(from: string): Refused | undefined;
  /** Why the process is refused after it has proved the id. Undefined: the directory accepts it. */
  proved(from: string, incarnation: string): Refused | undefined;
  welcome(wire: Wire, handshake: Handshake): void;
  /**
   * The neighbour to which to send. Undefined: this member cannot be reached. `at`: its address, as
   * another member has reported it.
   */
  reach(to: string, at: string | undefined): Neighbour | undefined;
  /** Resolves when all dialling has stopped. The caller aborts the dialer's signal first. */
  close(why: unknown): Promise<void>;
}

/** All members are listed. Of two members, the one whose id sorts first dials. */
export class ListedDirectory implements Directory {
  readonly #context: DirectoryContext;
  readonly #members: ReadonlyMap<string, Endpoint>;
  readonly #neighbours: ReadonlyMap<string, Neighbour>;
  #dialling: readonly Promise<void>[] = [];

  constructor(members: ReadonlyMap<string, Endpoint>, context: DirectoryContext) {
    this.#context = context;
    this.#members = members;
    const others = [...members.keys()].filter((id) => id !== context.memberId);
    this.#neighbours = new Map(others.map((id) => [id, new Neighbour(id, context.neighbour)]));
  }

  get neighbours(): Iterable<Neighbour> {
    return this.#neighbours.values();
  }

  admit({ members }: LinkOptions): void {
    if (members === 'open')
      throw invalidOption('members', members, "listed, as this transport's are; for members that come and go it takes seeds");
    const missing = members.find((id) => !this.#members.has(id));
    if (missing !== undefined) throw invalidText('members', missing, "one that the transport's members list, with its address");
  }

  begin(): void {
    const { memberId, connect } = this.#context;
    const theirs = [...this.#neighbours.values()].filter((neighbour) => memberId < neighbour.memberId);
    const context: DialerContext = {
      ...this.#context.dialer,
      connect: async (id, signal) => connect(id, this.#endpointOf(id), signal),
      isPreferred: () => true,
    };
    this.#dialling = theirs.map((neighbour) => keepConnected(neighbour, context));
  }

  enter(): () => void {
    return () => {};
  }

  claimed(from: string): Refused | undefined {
    if (!this.#neighbours.has(from)) return new Refused('unknownMember');
    return from < this.#context.memberId ? undefined : new Refused('wrongMember', { to: this.#context.memberId });
  }

  proved(from: string, incarnation: string): Refused | undefined {
    return this.#neighbours.get(from)?.isTakenBy(incarnation) === true ? new Refused('duplicateMember') : undefined;
  }

  welcome(wire: Wire, handshake: Handshake): void {
    this.#neighbours.get(handshake.memberId)?.connect(wire, handshake, true);
  }

  reach(to: string): Neighbour | undefined {
    return this.#neighbours.get(to);
  }

  async close(why: unknown): Promise<void> {
    for (const neighbour of this.#neighbours.values()) neighbour.close(why);
    await Promise.all(this.#dialling);
  }

  #endpointOf(memberId: string): Endpoint {
    const endpoint = this.#members.get(memberId);
    if (endpoint === undefined) throw invalidText('memberId', memberId, 'listed');
    return endpoint;
  }
}
