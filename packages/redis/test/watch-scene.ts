/** Watches on a hub whose server answers as the test says. */

import type { Entry, StoreError } from '@incumbent/core';

import type { Client } from '../src/client/client.ts';
import { signatureOf } from '../src/protocol/signature.ts';
import { secretScript } from '../src/scripts/secret.ts';
import { WatchHub } from '../src/watch-hub/watch-hub.ts';
import type { WatchState } from '../src/watch-state.ts';
import { watchState } from '../src/watch.ts';
import { bulk, FakeServers, list, OK, push, type Answer } from './fake-servers.ts';

export const KEYSPACE = { namespace: 'ns', tag: '{ns}', channel: 'changes', keyPrefix: '{ns}/', user: 'default' };

/** The fields of an entry as scripts write them. */
export function fields(key: string, value: string, revision = '2', lease = ''): readonly string[] {
  return [key, revision, '1', lease, lease === '' ? '-1' : '1000', value];
}

/** The answer to one read. */
export function readAnswer(...entries: readonly (readonly string[])[]): string {
  return list([list(entries.map((entry) => list(entry.map(bulk))))]);
}

export const SECRET = 'a secret of 32 characters or more';
let stamps = 1_000;

/** A message that a script publishes: signed, and with a stamp above all former ones. */
export function published(...words: readonly string[]): string {
  return push('message', 'changes', signed(SECRET, (stamps += 1), ...words));
}

export function signed(secret: string, stamp: number, ...words: readonly string[]): string {
  const payload = Buffer.from([String(stamp), ...words].map((word) => `${word.length}:${word}`).join(''));
  return Buffer.concat([signatureOf(secret, payload), payload]).toString();
}

/** The server's own notice that these keys were changed, which ends a round. */
export function changed(...keys: readonly string[]): string {
  return `>2\r\n${bulk('invalidate')}${list(keys.map((key) => bulk(`{ns}/${key}`)))}`;
}

const subscribed = push('subscribe', 'changes', '1');

interface Watched<T> {
  readonly states: T[];
  /** The codes that `onStale` was called with. */
  readonly stale: string[];
  /** How the watch ends: `quietly`, or its error. */
  readonly ended: Promise<unknown>;
  readonly stop: AbortController;
}

export class WatchScene {
  readonly servers: FakeServers;
  readonly hub: WatchHub;
  readonly client: Client;
  /** What reads answer with, and how many there were. */
  entries: readonly (readonly string[])[] = [];
  reads = 0;
  /** What the server has, and how often it was asked for it. */
  secret = SECRET;
  lastStamp = 0;
  secretReads = 0;

  /** `answer` replaces the usual answers. */
  constructor(answer: Answer = () => undefined, options: Parameters<FakeServers['client']>[0] = {}) {
    this.servers = new FakeServers((request, peer) => answer(request, peer) ?? this.#answer(request));
    this.client = this.servers.client({ ...options, onPush: (reply) => this.hub.onPush(reply) });
    this.hub = new WatchHub(this.client, this.servers.clock, KEYSPACE);
  }

  close(): void {
    this.hub.close();
    this.client.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #answer([name, digest]: readonly string[]): string | undefined {
    if (name === 'SUBSCRIBE') return subscribed;
    if (name === 'CLIENT') return OK;
    if (name === 'DEL') return ':0\r\n';
    if (name !== 'EVALSHA') return undefined;
    if (digest === secretScript.digest) {
      this.secretReads += 1;
      return list([this.secret, String(this.lastStamp)].map(bulk));
    }
    this.reads += 1;
    return readAnswer(...this.entries);
  }

  /** Starts a watch, and waits for its first read. */
  async watch<T>(state: WatchState<T>): Promise<Watched<T>> {
    const watched = this.start(state);
    await this.advance(0);
    return watched;
  }

  start<T>(state: WatchState<T>): Watched<T> {
    const [states, stale, stop]: [T[], string[], AbortController] = [[], [], new AbortController()];
    const options = { signal: stop.signal, onStale: ({ code }: StoreError) => void stale.push(code) };
    const watch = watchState(this.hub, () => state, options);
    const consume = async (): Promise<unknown> => {
      for await (const one of watch) states.push(one);
      return 'quietly';
    };
    return { states, stale, stop, ended: consume().catch((error: unknown) => error) };
  }

  /** The server sends this, and the client reads it. */
  receive(...messages: readonly string[]): Promise<void> {
    this.servers.peer.say(messages.join(''));
    return this.advance(0);
  }

  advance(ms: number): Promise<void> {
    return this.servers.clock.advance(ms);
  }
}

export const values = (states: readonly (Entry | undefined)[]): readonly (string | undefined)[] =>
  states.map((entry) => (entry === undefined ? undefined : Buffer.from(entry.value).toString()));
