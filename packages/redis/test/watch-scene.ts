/** A feed whose server does as it is told, and watches on it. */

import type { Entry, StoreError } from '@incumbent/core';

import { Feed } from '../src/watch-hub/watch-hub.ts';
import type { Mirror } from '../src/watch-state.ts';
import { seal } from '../src/scripts/secret.ts';
import { signatureOf } from '../src/protocol/signature.ts';
import { watchMirror } from '../src/watch.ts';
import { bulk, FakeServers, OK, push, type Answer } from './fake-servers.ts';

const NAMES = { tag: '{ns}', channel: 'changes', places: '{ns}/' };

/** A row as scripts tell it. */
export function row(key: string, value: string, revision = '2', lease = ''): readonly string[] {
  return [key, revision, '1', lease, lease === '' ? '-1' : '1000', value];
}

export function list(items: readonly string[]): string {
  return `*${items.length}\r\n${items.join('')}`;
}

/** The answer to one look. */
export function seen(...rows: readonly (readonly string[])[]): string {
  return list([list(rows.map((words) => list(words.map(bulk))))]);
}

export const SECRET = 'a secret of 32 characters or more';
let stamps = 1_000;

/** Words of a change, as they are told: signed, and with a stamp above those before. */
export function told(...words: readonly string[]): string {
  return push('message', 'changes', signed(SECRET, (stamps += 1), ...words));
}

export function signed(secret: string, stamp: number, ...words: readonly string[]): string {
  const payload = Buffer.from([String(stamp), ...words].map((word) => `${word.length}:${word}`).join(''));
  return Buffer.concat([signatureOf(secret, payload), payload]).toString();
}

export function touched(...keys: readonly string[]): string {
  return `>2\r\n${bulk('invalidate')}${list(keys.map((key) => bulk(`{ns}/${key}`)))}`;
}

const subscribed = push('subscribe', 'changes', '1');

export class Scene {
  readonly servers: FakeServers;
  readonly feed: Feed;
  readonly client: ReturnType<FakeServers['client']>;
  /** What looks show. */
  rows: readonly (readonly string[])[] = [];
  looks = 0;
  /** What the server has, and how often it was asked for it. */
  secret = SECRET;
  stamp = 0;
  seals = 0;

  constructor(answer: Answer = () => undefined, options: Parameters<FakeServers['client']>[0] = {}) {
    this.servers = new FakeServers((request, peer) => answer(request, peer) ?? this.#answer(request));
    const client = this.servers.client({ ...options, unasked: (reply) => this.feed.hear(reply) });
    this.client = client;
    this.feed = new Feed(client, this.servers.clock, NAMES);
    this.close = () => {
      this.feed.close();
      client.close();
    };
  }

  readonly close: () => void;

  #answer([name, digest]: readonly string[]): string | undefined {
    if (name === 'SUBSCRIBE') return subscribed;
    if (name === 'CLIENT') return OK;
    if (name !== 'EVALSHA') return undefined;
    if (digest === seal.digest) {
      this.seals += 1;
      return list([this.secret, String(this.stamp)].map(bulk));
    }
    this.looks += 1;
    return seen(...this.rows);
  }

  follow<T>(mirror: Mirror<T>): {
    readonly states: T[];
    readonly stale: string[];
    readonly ended: Promise<unknown>;
    readonly stop: AbortController;
  } {
    const [states, stale, stop]: [T[], string[], AbortController] = [[], [], new AbortController()];
    const options = { signal: stop.signal, onStale: ({ code }: StoreError) => void stale.push(code) };
    const watch = watchMirror(this.feed, () => mirror, options);
    const consume = async (): Promise<unknown> => {
      for await (const state of watch) states.push(state);
      return 'quietly';
    };
    return { states, stale, stop, ended: consume().catch((error: unknown) => error) };
  }

  say(...words: readonly string[]): Promise<void> {
    this.servers.peer.say(words.join(''));
    return this.pass(0);
  }

  pass(ms: number): Promise<void> {
    return this.servers.clock.advance(ms);
  }
}

export const values = (states: readonly (Entry | undefined)[]): readonly (string | undefined)[] =>
  states.map((entry) => (entry === undefined ? undefined : Buffer.from(entry.value).toString()));
