/** One run of the demo, from opening the store to leaving it as it was. */

import { openStore, type Store } from 'incumbent';
import { closing } from './closing.ts';
import { Cluster } from './cluster.ts';
import type { Messages } from './history.ts';
import { findPlace } from './place.ts';
import { Producers, readAll } from './producers.ts';
import { Screen } from './screen.ts';
import { Stage } from './stage.ts';
import { LATE_TOPIC, leave, play } from './story.ts';
import { findTraces, partitionsOf, removePartitions } from './traces.ts';
import { untilAnswered } from './until-answered.ts';
import { judge } from './verdict.ts';

const TTL_MS = 3_000;
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Runs it on the store of this URL, by default on one of its own, and returns the exit code. Never rejects. */
export async function run(url: string | undefined): Promise<number> {
  const interrupt = new AbortController();
  let interrupted: number | undefined;
  const stop = (code: number): void => {
    interrupted ??= code;
    interrupt.abort();
  };
  for (const [signal, code] of Object.entries(SIGNALS)) process.on(signal, () => stop(code));
  process.stdout.on('error', () => stop(1)); // nobody reads on: `| head`
  let what = 'The store could not be opened:';
  try {
    await using place = await findPlace(url);
    await using store = await openStore(place.url);
    what = 'The demo could not go on:';
    const kept = await perform(store, { ...place, signal: interrupt.signal });
    return kept ? 0 : 1;
  } catch (error) {
    if (interrupted === undefined) return explain(what, error);
    console.error('\n  Interrupted; the processes have been ended.\n');
    return interrupted;
  }
}

/** Says what went wrong, and returns the exit code. */
function explain(what: string, error: unknown): number {
  console.error(`\n  ${what} ${error instanceof Error ? error.message : String(error)}\n`);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'UNKNOWN_SCHEME' || code === 'INVALID_OPTION' || code === 'INVALID_NAME' ? 2 : 1;
}

interface Performance {
  readonly url: string;
  readonly folder: string;
  readonly description: string;
  readonly signal: AbortSignal;
}

/** Whether every promise held. */
async function perform(store: Store, { url, folder, description, signal }: Performance): Promise<boolean> {
  const ttlMs = Math.max(TTL_MS, store.capabilities.minTtlMs);
  const screen = new Screen();
  screen.title('Incumbent: brokers and their controller, after Kafka', `on ${description}; ttl ${ttlMs / 1_000} s`);
  const cluster = new Cluster({ url, ttlMs, folder, signal });
  const stage = new Stage(store, { cluster, screen });
  await stage.untilFree();
  await removePartitions(store);
  let producers: Producers | undefined;
  try {
    const partitions = ['orders', 'payments'].flatMap((topic) => Array.from({ length: 4 }, (_, index) => `${topic}-${index}`));
    await play(stage, () => (producers = new Producers({ brokers: () => stage.urls, partitions: () => partitions })));
    const messages = await readBack(stage, producers);
    const effects = await partitionsOf(store, LATE_TOPIC);
    await leave(stage);
    const { heard, beliefs, lives } = cluster;
    const told = { heard, beliefs, lives, acts: stage.acts, pauses: stage.pauses };
    const history = { ...told, messages, effects, leftovers: await findTraces(store) };
    const findings = judge(history);
    screen.lines(closing(history, findings));
    return findings.every(({ broken }) => broken.length === 0);
  } finally {
    await producers?.stop();
    await cluster.close();
    await removePartitions(store);
  }
}

/** Stops the load, and reads everything that can be read. */
async function readBack(stage: Stage, producers: Producers | undefined): Promise<Messages> {
  await producers?.stop();
  const acknowledged = producers?.acknowledged ?? [];
  const partitions = [...(await stage.partitions()).keys()];
  const read: string[] = [];
  for (const partition of partitions) read.push(...(await untilAnswered(() => readAll(stage.urls[0] ?? '', partition))));
  return { acknowledged, read };
}
