/** Servers in this process, without sockets, for answers that a healthy ZooKeeper never gives. */

import { duplexPair, type Duplex } from 'node:stream';

import { ManualClock } from '@incumbent/memory';
import type { Random } from '@incumbent/core';
import { Deframer, type Endpoint, endpointName, SharedAllowance } from '@incumbent/network';

import { frame, RecordFraming, AUTH, PING, Xid } from '../../src/protocol/frame.ts';
import { Reader, Writer } from '../../src/protocol/jute.ts';
import { closeSession } from '../../src/protocol/nodes.ts';
import { ZooKeeperSession, type SessionEvent, type SessionOptions } from '../../src/client/session.ts';

export interface ClientHello {
  readonly lastZxid: bigint;
  readonly timeoutMs: number;
  readonly id: bigint;
  readonly password: Uint8Array;
}

export interface ClientRequest {
  readonly xid: number;
  readonly type: number;
  readonly body: Reader;
}

/** The kinds of events, as servers number them. */
export const EventType = { created: 1, deleted: 2, dataChanged: 3, childrenChanged: 4 } as const;

export const PASSWORD: Uint8Array = new Uint8Array(16).fill(7);

let sessions = 0n;

/** A welcome as servers write it. */
export function welcome(timeoutMs: number, id: bigint, { password = PASSWORD, readOnly = false } = {}): Uint8Array {
  return new Writer().int(0).int(timeoutMs).long(id).buffer(password).bool(readOnly).finish();
}

/** The server's end of one connection. */
export class Peer {
  readonly socket: Duplex;
  /** Every request but pings, so far. */
  readonly requests: ClientRequest[] = [];
  pings = 0;
  hello: ClientHello | undefined;

  readonly #far: Duplex;

  constructor(socket: Duplex, far: Duplex) {
    this.socket = socket;
    this.#far = far;
  }

  /** Bytes as they are. */
  raw(bytes: Uint8Array | string): void {
    if (!this.socket.writableEnded) this.socket.write(bytes);
  }

  send(record: Uint8Array): void {
    this.raw(frame(record));
  }

  reply(xid: number, { code = 0, zxid = 1n, body = new Uint8Array() }: { code?: number; zxid?: bigint; body?: Uint8Array } = {}): void {
    this.send(new Writer().int(xid).long(zxid).int(code).raw(body).finish());
  }

  event(type: number, path: string): void {
    this.reply(Xid.notification, { zxid: -1n, body: new Writer().int(type).int(3).string(path).finish() });
  }

  /** The types of the requests so far. */
  get types(): readonly number[] {
    return this.requests.map(({ type }) => type);
  }

  /** Ends the connection as a server that closes it. */
  end(): void {
    this.socket.end();
  }

  /** Ends it as a reset does. */
  reset(): void {
    this.#far.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
  }
}

export type Greet = (hello: ClientHello, peer: Peer) => void;
export type Answer = (request: ClientRequest, peer: Peer) => void;

/** Grants every session. */
export const agree: Greet = ({ timeoutMs, id }, peer) => {
  sessions += 1n;
  peer.send(welcome(timeoutMs, id === 0n ? sessions : id));
};

/** Answers that there is no such session. */
export const gone: Greet = (_, peer) => {
  peer.send(welcome(0, 0n));
  peer.end();
};

/** Answers everything with OK and an empty body, and ends the connection with the session. */
export const ok: Answer = ({ xid, type }, peer) => {
  peer.reply(xid);
  if (type === closeSession.type) peer.end();
};

export const silent = (): void => {};

export class FakeServer {
  readonly peers: Peer[] = [];
  greet: Greet = agree;
  answer: Answer = ok;
  /** Answers to identities. */
  authCode = 0;
  pongs = true;
  /** `refuse`: as a port on which nobody listens. `ignore`: as one whose packets are dropped. */
  accepts: true | 'refuse' | 'ignore' = true;

  /** The last connection. */
  get peer(): Peer {
    return this.peers.at(-1)!;
  }

  async accept(): Promise<Duplex> {
    if (this.accepts === 'ignore') return new Promise(() => {});
    if (this.accepts === 'refuse') throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const [client, server] = duplexPair();
    const peer = new Peer(server, client);
    this.peers.push(peer);
    // What is destroyed at one end is over at the other.
    client.on('close', () => server.destroy());
    server.on('close', () => client.destroy());
    const deframer = new Deframer(new RecordFraming(2 ** 20));
    server.on('data', (chunk: Uint8Array) => {
      for (const record of deframer.push(chunk)) this.#take(record, peer);
    });
    return client;
  }

  #take(record: Uint8Array, peer: Peer): void {
    const reader = new Reader(record);
    if (peer.hello === undefined) {
      reader.int();
      peer.hello = { lastZxid: reader.long(), timeoutMs: reader.int(), id: reader.long(), password: reader.buffer() };
      this.greet(peer.hello, peer);
      return;
    }
    const request = { xid: reader.int(), type: reader.int(), body: reader };
    if (request.type === PING) {
      peer.pings += 1;
      if (this.pongs) peer.reply(Xid.ping);
      return;
    }
    peer.requests.push(request);
    if (request.type === AUTH) peer.reply(Xid.auth, { code: this.authCode });
    else this.answer(request, peer);
  }
}

/** Always the same number, so that orders and pauses are predictable. */
const fixed: Random = { u32: () => 2 ** 31 };

/** Servers, a clock, and the events of one session. */
export class World {
  readonly clock = new ManualClock();
  readonly servers: readonly FakeServer[];
  readonly events: SessionEvent[] = [];

  constructor(servers = 1) {
    this.servers = Array.from({ length: servers }, () => new FakeServer());
  }

  get server(): FakeServer {
    return this.servers[0]!;
  }

  get endpoints(): readonly Endpoint[] {
    return this.servers.map((_, index) => ({ host: 'zk', port: index + 1 }));
  }

  options(options: Partial<SessionOptions> = {}): SessionOptions {
    return {
      clock: this.clock,
      random: fixed,
      endpoints: this.endpoints,
      connect: ({ port }) => this.servers[port - 1]!.accept(),
      connectTimeoutMs: 1_000,
      handshakeTimeoutMs: 1_000,
      answers: new SharedAllowance(),
      timeoutMs: 6_000,
      auths: [],
      onEvent: (event) => void this.events.push(event),
      ...options,
    };
  }

  /** Opens a session; time passes while it takes. */
  async open(options: Partial<SessionOptions> = {}): Promise<ZooKeeperSession> {
    const session = new ZooKeeperSession(this.options(options));
    await this.clock.run(session.open({ timeoutMs: 10_000 }));
    return session;
  }

  /** The names of the events: `connected zk:1`, `disconnected`, … */
  get eventNames(): readonly string[] {
    return this.events.map((event) => {
      if (event.type === 'connected') return `${event.reattached ? 'reattached' : 'connected'} ${endpointName(event.endpoint)}`;
      return event.type === 'expired' ? `expired by ${event.by}` : event.type;
    });
  }
}
