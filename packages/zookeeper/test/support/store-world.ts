/** A store on a fake server that has nodes. */

import { ManualClock } from '@incumbent/memory';
import type { Clock, Moment, Store } from '@incumbent/core';

import { openZookeeper } from '../../src/index.ts';
import { type Reader, Writer } from '../../src/protocol/jute.ts';
import { multi, multiRead } from '../../src/protocol/multi.ts';
import { closeSession, create, exists, getChildren, getData, sync, writeStat } from '../../src/protocol/nodes.ts';
import { FakeServer, ok, type Answer, type ClientRequest, type Peer } from './fake-server.ts';

export const CALL = { timeoutMs: 2_000 };

/** The answer to a barrier: one check that held. */
export const CHECKED: Uint8Array = new Writer().int(13).bool(false).int(-1).int(-1).bool(true).int(-1).finish();

export const NONODE = -101;
export const NOAUTH = -102;
export const NODEEXISTS = -110;
export const THROTTLEDOP = -127;

/** A node of the server: its data, or null for one that holds nothing; `code` refuses it. */
export type Node = { readonly data: string | null; readonly version?: number; readonly owner?: bigint } | { readonly code: number };

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonic(), wallMs: clock.wall() };
}

/** What a call resolves or rejects with. */
export async function settled<T>(call: Promise<T>): Promise<unknown> {
  return call.then(
    (value) => value,
    (error: unknown) => error,
  );
}

export function statOf(version = 0, owner = 0n) {
  return { czxid: 5n, mzxid: 5n, version, cversion: 0, ephemeralOwner: owner, dataLength: 0, numChildren: 0, pzxid: 5n };
}

export class StoreWorld {
  readonly clock = new ManualClock();
  readonly server = new FakeServer();
  readonly nodes = new Map<string, Node>();
  /** Called before each request is answered. */
  before: (request: ClientRequest) => void = () => {};
  /** Answers instead of the server, if it returns true. */
  instead: (request: ClientRequest, peer: Peer) => boolean = () => false;

  constructor() {
    this.server.answer = this.#answer;
  }

  async open(options: { connectTimeoutMs?: number } = {}): Promise<Store> {
    return this.clock.run(
      openZookeeper({ endpoints: ['zk:1'], namespace: 'ns', clock: this.clock, connect: () => this.server.accept(), ...options }),
    );
  }

  readonly #answer: Answer = (request, peer) => {
    if (this.instead(request, peer)) return;
    this.before(request);
    const { xid, type, body } = request;
    switch (type) {
      case multi.type:
        return peer.reply(xid, { body: CHECKED });
      case create.type:
        return peer.reply(xid, { code: NODEEXISTS });
      case exists.type:
        return peer.reply(xid, { body: writeStat(new Writer(), statOf()).finish() });
      case getData.type:
        return this.#data(xid, body.string(), peer);
      case getChildren.type:
        return peer.reply(xid, { body: writeStat(this.#children(new Writer(), body.string()), statOf()).finish() });
      case multiRead.type:
        return peer.reply(xid, { body: this.#many(body) });
      case sync.type:
        return peer.reply(xid, { body: new Writer().string('/').finish() });
      case closeSession.type:
        return ok(request, peer);
      default:
        return peer.reply(xid);
    }
  };

  #data(xid: number, path: string, peer: Peer): void {
    const node = this.nodes.get(path) ?? { code: NONODE };
    if ('code' in node) peer.reply(xid, { code: node.code });
    else peer.reply(xid, { body: this.#write(new Writer(), node).finish() });
  }

  #write(writer: Writer, { data, version, owner }: Exclude<Node, { code: number }>): Writer {
    return writeStat(writer.optionalBuffer(data === null ? undefined : new TextEncoder().encode(data)), statOf(version, owner));
  }

  #children(writer: Writer, path: string): Writer {
    const names = [...this.nodes.keys()]
      .filter((node) => node.slice(0, node.lastIndexOf('/')) === path)
      .map((node) => node.slice(path.length + 1));
    return writer.vector(names, (one, name) => one.string(name));
  }

  #many(body: Reader): Uint8Array {
    const writer = new Writer();
    for (;;) {
      const [type, done] = [body.int(), body.bool()];
      body.int();
      if (done) return writer.int(-1).bool(true).int(-1).finish();
      const path = body.string();
      body.bool();
      const node = this.nodes.get(path) ?? { code: NONODE };
      if ('code' in node) writer.int(-1).bool(false).int(node.code).int(node.code);
      else if (type === getData.type) this.#write(writer.int(type).bool(false).int(0), node);
      else this.#children(writer.int(8).bool(false).int(0), path);
    }
  }
}
