/**
 * `pnpm --filter @incumbent/redis compare-clients [rounds]`: measures this package's client beside
 * `ioredis` and `redis` on one server, in turn, and prints each figure of theirs as a multiple of
 * ours. Import times need `pnpm build`. The results stand in record 0012.
 */

import { execFileSync } from 'node:child_process';
import { hostOf, startRedis } from '@incumbent/test-support';
import { Redis } from 'ioredis';
import { Redis as Redis6 } from 'ioredis-6';
import { createClient as createNodeRedis } from 'redis';

import { createClient } from '../src/client/create-client.ts';
import { readOptions } from '../src/options.ts';
import { listOf, textOf } from '../src/protocol/replies.ts';

const ROUNDS = Number(process.argv[2] ?? 20);
const CALLS = 200;
const IMPORTS = 10;
const CHANNEL = 'compare';
const VALUE = 'v'.repeat(200);
/** Like a swap: reads a revision, compares it, and writes a key and its new revision. */
const SWAP = `local revision = redis.call('HGET', KEYS[1], 'r')
if revision and revision ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'v', ARGV[2], 'r', ARGV[1])
return 1`;

/** What is measured of each client. `onMessage` is called for each message of the channel. */
interface Compared extends AsyncDisposable {
  readonly name: string;
  send(...args: readonly string[]): Promise<unknown>;
  onMessage: () => void;
}

type Figure = 'swap' | 'renewal' | 'notification';
const FIGURES: readonly Figure[] = ['swap', 'renewal', 'notification'];

async function ours(url: string): Promise<Compared> {
  const settings = readOptions({ endpoints: [hostOf(url)], namespace: 'compare' });
  const listeners = new Set<() => void>();
  const client = createClient(settings, (reply) => {
    const [kind] = Array.from(listOf(reply));
    if (kind instanceof Uint8Array && textOf(kind) === 'message') for (const listener of listeners) listener();
  });
  const connection = await client.connect();
  await connection.request(['SUBSCRIBE', CHANNEL], () => undefined);
  const compared: Compared = {
    name: 'ours',
    send: (...args) => connection.request(args, (reply) => reply),
    onMessage: () => {},
    [Symbol.asyncDispose]: async () => client.close(),
  };
  listeners.add(() => compared.onMessage());
  return compared;
}

/** Both libraries need a second connection for messages. */
async function ioredis(name: string, open: () => Redis | Redis6): Promise<Compared> {
  const [client, subscriber] = [open(), open()];
  await subscriber.subscribe(CHANNEL);
  const compared: Compared = {
    name,
    send: (...args) => client.call(args[0] ?? '', ...args.slice(1)),
    onMessage: () => {},
    [Symbol.asyncDispose]: async () => {
      client.disconnect();
      subscriber.disconnect();
    },
  };
  subscriber.on('message', () => compared.onMessage());
  return compared;
}

async function nodeRedis(url: string): Promise<Compared> {
  const client = createNodeRedis({ url });
  const subscriber = client.duplicate();
  await Promise.all([client.connect(), subscriber.connect()]);
  const compared: Compared = {
    name: 'redis 6',
    send: (...args) => client.sendCommand(args),
    onMessage: () => {},
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      subscriber.destroy();
    },
  };
  await subscriber.subscribe(CHANNEL, () => compared.onMessage());
  return compared;
}

/** The median time of one call of each kind, in ms. */
async function measure(client: Compared, sha: string): Promise<Readonly<Record<Figure, number>>> {
  const key = `compare:${client.name}`;
  const swap = await medianOf(() => client.send('EVALSHA', sha, '1', key, '1', VALUE));
  const renewal = await medianOf(() => client.send('PEXPIRE', key, '10000'));
  const notification = await medianOf(async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    client.onMessage = resolve;
    await Promise.all([client.send('PUBLISH', CHANNEL, VALUE), promise]);
  });
  return { swap, renewal, notification };
}

async function medianOf(call: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < CALLS; count += 1) {
    const from = performance.now();
    await call();
    times.push(performance.now() - from);
  }
  return median(times);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** The time that a new process takes for the import, in ms. */
function importMs(specifier: string): number {
  const code = `const from = performance.now(); await import('${specifier}'); console.log(performance.now() - from);`;
  return Number(execFileSync(process.execPath, ['--input-type=module', '-e', code], { cwd: import.meta.dirname, encoding: 'utf8' }));
}

await using server = await startRedis();
const [own, ...others] = [
  await ours(server.url),
  await ioredis('ioredis 5', () => new Redis(server.url)),
  await ioredis('ioredis 6', () => new Redis6(server.url)),
  await nodeRedis(server.url),
];
const sha = (await server.ctl(['SCRIPT', 'LOAD', SWAP])).trim();
const rounds: Readonly<Record<string, Readonly<Record<Figure, number>>>>[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const figures: Record<string, Readonly<Record<Figure, number>>> = {};
  for (const client of [own, ...others]) figures[client.name] = await measure(client, sha);
  rounds.push(figures);
}
for (const figure of FIGURES) {
  const ourMs = median(rounds.map((round) => round['ours']?.[figure] ?? 0));
  const ratios = others.map(({ name }) => {
    const ratio = median(rounds.map((round) => (round[name]?.[figure] ?? 0) / (round['ours']?.[figure] ?? 1)));
    return `${name} ${ratio.toFixed(2)}`;
  });
  console.log(`${figure}: ours ${ourMs.toFixed(3)} ms; ${ratios.join('; ')}`);
}
const specifiers = { ours: '../dist/index.js', 'ioredis 5': 'ioredis', 'ioredis 6': 'ioredis-6', 'redis 6': 'redis' };
const imports = Array.from({ length: IMPORTS }, () =>
  Object.fromEntries(Object.entries(specifiers).map(([name, specifier]) => [name, importMs(specifier)] as const)),
);
const importRatios = others.map(
  ({ name }) => `${name} ${median(imports.map((round) => (round[name] ?? 0) / (round['ours'] ?? 1))).toFixed(2)}`,
);
console.log(`import: ours ${median(imports.map((round) => round['ours'] ?? 0)).toFixed(1)} ms; ${importRatios.join('; ')}`);
for (const client of [own, ...others]) await client[Symbol.asyncDispose]();
