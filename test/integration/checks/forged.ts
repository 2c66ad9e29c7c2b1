/** A Redis user who may use the channels of a namespace but none of its keys. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionObserver, Member, openStore, type ElectionView, type Leadership, type Store } from 'incumbent';
import { startRedis, until, type RedisServer } from '@incumbent/test-support';
import type { Check } from './check.ts';
import { ELECTION, freshNamespace, WAIT_MS } from './pair.ts';

const WEAK = { acceptWeakStore: 'redis' } as const;
const INTRUDER = { username: 'intruder', password: 'intruder-secret' };
/** Messages in one run. Each has another form or repeats an earlier message. */
const MESSAGES = 20;
/** The renewals of two members, and one request of each of three stores within 2 s. */
const MOST_PER_SECOND = 5;
/** Longer than two heartbeats, in which a store may look for the cause. */
const WATCHED_MS = 5_000;

/** Longer than any message that a store hashes. */
const LONG_BYTES = 5 * 2 ** 20;

/**
 * The commands that a user needs according to the README of `@incumbent/redis`, besides keys and
 * channels.
 */
const COMMANDS =
  '+eval +evalsha +info +client|setname +client|tracking +select +subscribe +publish +time +get +set +del +pttl +pexpire +hmget +hget +hset ' +
  '+sadd +srem +smembers +zadd +zrem +zscore +zrangebyscore +zrevrangebyscore';

/** A connection of the intruder, which uses the older protocol. */
class Intruder implements Disposable {
  readonly #socket: Socket;
  #heard = '';

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1').on('data', (text: string) => {
      // The middle of the intruder's own long message is not kept.
      if (!/^d{1000,}$/.test(text)) this.#heard += text;
    });
  }

  static async open(server: RedisServer): Promise<Intruder> {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const intruder = new Intruder(socket);
    await intruder.ask('AUTH', INTRUDER.username, INTRUDER.password);
    return intruder;
  }

  get heard(): string {
    return this.#heard;
  }

  /** Resolves when the server has answered. */
  async ask(...words: readonly string[]): Promise<string> {
    const before = this.#heard.length;
    this.#socket.write(
      `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word, 'latin1')}\r\n${word}\r\n`).join('')}`,
      'latin1',
    );
    await until(() => this.#heard.length > before, { what: 'an answer', withinMs: WAIT_MS });
    return this.#heard.slice(before);
  }

  /** What the intruder has received on its channel. */
  messages(): readonly string[] {
    return [...this.#heard.matchAll(/\$7\r\nmessage\r\n\$\d+\r\n[^\r]*\r\n\$(\d+)\r\n/g)].map((match) =>
      this.#heard.slice(match.index + match[0].length, match.index + match[0].length + Number(match[1])),
    );
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

const text = (words: readonly string[]): string => words.map((word) => `${Buffer.byteLength(word)}:${word}`).join('');

/**
 * The intruder's next message: forged in each form that a listener might accept, or repeated from a
 * script.
 */
function messageOf(turn: number, recorded: readonly string[], random: () => number): string {
  const leader = `elections/${ELECTION}/leader`;
  const stamp = String((Date.now() + 60_000) * 1_000);
  const record = JSON.stringify({ term: '9', memberId: 'forged', incarnation: 'x', value: { url: 'http://forged.example' } });
  const put = ['p', leader, stamp, stamp, '', '-1', record];
  const gone = ['d', leader];
  const signature = 'a'.repeat(40);
  const any = recorded[Math.floor(random() * recorded.length)] ?? '';
  const forms = [
    text(gone),
    text(put),
    signature + text([stamp, ...gone]),
    signature + text([stamp, ...put]),
    // Signed by a script, unchanged or with bytes appended.
    any,
    any + text(gone),
    any.slice(0, 40) + text([stamp, ...gone]),
    'd'.repeat(10_000),
    'd'.repeat(LONG_BYTES),
  ];
  return forms[turn % forms.length] ?? '';
}

/** How many scripts the server has run. */
async function scripts(server: RedisServer): Promise<number> {
  return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(await server.ctl(['info', 'commandstats']))?.[1] ?? 0);
}

interface Stage {
  readonly server: RedisServer;
  readonly namespace: string;
  readonly leadership: Leadership;
  readonly views: readonly ElectionView[];
  readonly observer: ElectionObserver;
  readonly waiting: { readonly leads: boolean };
  readonly intruder: Intruder;
}

async function oneRun(stage: Stage, index: number, random: () => number): Promise<Readonly<Record<string, number>>> {
  const { server, namespace, leadership, observer, waiting, intruder } = stage;
  const channel = `{${namespace}}:changes:0`;
  assert.ok(intruder.messages().length > 2, 'the intruder has heard scripts');
  const seen = stage.views.length;
  const before = await scripts(server);
  const fromMs = performance.now();
  using speaker = await Intruder.open(server);
  for (let turn = 0; turn < MESSAGES; turn += 1)
    await speaker.ask('PUBLISH', channel, messageOf(index + turn, intruder.messages(), random));
  await sleep(WATCHED_MS);
  assert.ok(leadership.isValid(), 'the leadership was lost');
  assert.ok(!waiting.leads, 'another one leads');
  const view = observer.current;
  assert.ok(view.state === 'leader' && view.memberId === 'a', 'the observer was misled');
  assert.deepEqual(stage.views.slice(seen), [], 'the observer was told something');
  const seconds = (performance.now() - fromMs) / 1_000;
  const requestsPerSecond = ((await scripts(server)) - before) / seconds;
  assert.ok(requestsPerSecond <= MOST_PER_SECOND, `${requestsPerSecond} requests per second`);
  return { requestsPerSecond };
}

export const redisForged: Check = {
  name: 'redis-forged-messages',
  claim:
    'A Redis user who may publish and subscribe on every channel, and use no key of the namespace, can neither depose a leader, nor mislead or slow down anybody, by messages that it forges or repeats.',
  method:
    `One redis with users. A leader, a candidate behind it and an observer, a store each, with the rights that the README names; a user with \`~other* &* +publish +subscribe\` hears all that scripts tell. Each run: ${MESSAGES} messages, ` +
    'in turn without a signature, with a wrong one, repeated, repeated with more behind them, under the signature of another one, and long ones, of up to 5 MiB. For 5 s after that nobody else leads and the observer is told nothing. ' +
    'requestsPerSecond: all scripts that the server runs meanwhile, renewals included.',
  runs: 100,
  parallel: 1,
  open: async () => {
    const server = await startRedis();
    const namespace = freshNamespace();
    const rights = [`~{${namespace}}*`, `&{${namespace}}*`, ...COMMANDS.split(' ')];
    await server.ctl(['acl', 'setuser', 'owner', 'reset', 'on', '>owner-secret', ...rights]);
    await server.ctl([
      'acl',
      'setuser',
      INTRUDER.username,
      'reset',
      'on',
      `>${INTRUDER.password}`,
      '~other*',
      '&*',
      '+publish',
      '+subscribe',
    ]);
    const stores: Store[] = [];
    const open = async (): Promise<Store> => {
      const store = await openStore(`redis://owner:owner-secret@${new URL(server.url).host}/${namespace}`);
      stores.push(store);
      return store;
    };
    const intruder = await Intruder.open(server);
    await intruder.ask('SUBSCRIBE', `{${namespace}}:changes:0`);
    const [a, b] = [new Member(await open(), { memberId: 'a' }), new Member(await open(), { memberId: 'b' })];
    const leadership = await a.election(ELECTION, WEAK).campaign({});
    const waiting = { leads: false };
    const caller = new AbortController();
    const next = b
      .election(ELECTION, WEAK)
      .campaign({ signal: caller.signal })
      .then(
        () => {
          waiting.leads = true;
        },
        () => {},
      );
    const observer = new ElectionObserver(await open(), ELECTION);
    const views: ElectionView[] = [];
    observer.subscribe((view) => views.push(view));
    await until(() => observer.current.state === 'leader', { what: 'the observer shows the leader', withinMs: WAIT_MS });
    await until(async () => (await a.election(ELECTION).candidates()).length === 2, {
      what: 'b is in the queue',
      withinMs: WAIT_MS,
    });
    const stage = { server, namespace, leadership, views, observer, waiting, intruder };
    return {
      run: async (index, { random }) => ({ figures: await oneRun(stage, index, random) }),
      [Symbol.asyncDispose]: async () => {
        caller.abort(new Error('the check is over'));
        await next;
        await observer.close();
        for (const member of [b, a]) await member.close();
        for (const store of stores) await store.close();
        intruder[Symbol.dispose]();
        await server.stop();
      },
    };
  },
};
