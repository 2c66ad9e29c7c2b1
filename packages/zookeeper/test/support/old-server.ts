/** A ZooKeeper before 3.6, which does not know watches that stay. */

import { Writer } from '../../src/protocol/jute.ts';
import { exists, getChildren, getData, writeStat } from '../../src/protocol/nodes.ts';
import { addWatch } from '../../src/protocol/watches.ts';
import { agree, EventType, type Answer, type ClientRequest, type FakeServer, type Peer } from './fake-server.ts';

const NONODE = -101;
const UNIMPLEMENTED = -6;

/** It has nodes, and watches of them that are gone after one event. */
export class OldServer {
  readonly nodes = new Set<string>(['/']);
  readonly data = new Set<string>();
  readonly children = new Set<string>();
  readonly asked: string[] = [];
  readonly #server: FakeServer;

  constructor(server: FakeServer) {
    this.#server = server;
    server.greet = (hello, peer) => {
      this.data.clear();
      this.children.clear();
      agree(hello, peer);
    };
    server.answer = this.answer;
  }

  answer: Answer = (request, peer) => {
    if (request.type === addWatch.type) {
      peer.reply(request.xid, { code: UNIMPLEMENTED });
      peer.end();
      return;
    }
    const [path, watch] = [request.body.string(), request.body.bool()];
    this.asked.push(`${request.type} ${path}`);
    this.#read(request, path, watch, peer);
  };

  create(path: string): void {
    this.nodes.add(path);
    this.#fire(this.data, EventType.created, path);
    this.#fire(this.children, EventType.childrenChanged, parentOf(path));
  }

  delete(path: string): void {
    this.nodes.delete(path);
    this.#fire(this.data, EventType.deleted, path);
    this.#fire(this.children, EventType.deleted, path);
    this.#fire(this.children, EventType.childrenChanged, parentOf(path));
  }

  change(path: string): void {
    this.#fire(this.data, EventType.dataChanged, path);
  }

  #read({ xid, type }: ClientRequest, path: string, watch: boolean, peer: Peer): void {
    const found = this.nodes.has(path);
    // Only `exists` leaves a watch behind for a node that there is not.
    if (watch && (found || type === exists.type)) (type === getChildren.type ? this.children : this.data).add(path);
    if (!found) {
      peer.reply(xid, { code: NONODE });
      return;
    }
    const body = new Writer();
    if (type === getData.type) body.buffer(new Uint8Array());
    const names = [...this.nodes].filter((node) => node !== '/' && parentOf(node) === path);
    if (type === getChildren.type) body.vector(names, (writer, name) => writer.string(name.slice(name.lastIndexOf('/') + 1)));
    const stat = { czxid: 1n, mzxid: 1n, version: 0, cversion: 0, ephemeralOwner: 0n, dataLength: 0, numChildren: names.length, pzxid: 1n };
    peer.reply(xid, { body: writeStat(body, stat).finish() });
  }

  #fire(watches: Set<string>, type: number, path: string): void {
    if (watches.delete(path)) this.#server.peer.event(type, path);
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}
