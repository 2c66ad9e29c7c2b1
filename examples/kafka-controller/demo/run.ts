/** One run of the demo, from opening the store to cleaning it up. */

import { once } from 'node:events';
import { openStore, type Store } from 'incumbent';
import type { Wanted } from './arguments.ts';
import { closing } from './closing.ts';
import { Cluster } from './cluster.ts';
import { Control } from './control.ts';
import { findStore } from './demo-store.ts';
import { Producers, readAll } from './producers.ts';
import { Screen, strong } from './screen.ts';
import { Stage } from './stage.ts';
import { LATE_TOPIC, leave, play, TOPICS } from './story.ts';
import { findTraces, partitionsOf, removePartitions } from './traces.ts';
import { untilAnswered } from './until-answered.ts';
import { judge } from './verdict.ts';

const TTL_MS = 3_000;
/** The partitions that producers send to. */
const LOADED: readonly string[] = Object.entries(TOPICS).flatMap(([topic, partitions]) =>
  Array.from({ length: partitions }, (_, index) => `${topic}-${index}`),
);
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Runs the demo on the store of this URL, by default a new SQLite file, and resolves with the exit
 * code. Never rejects.
 */
export async function run({ url, serve, short }: Wanted): Promise<number> {
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
    await using place = await findStore(url);
    await using store = await openStore(place.url);
    what = 'The demo could not go on:';
    const kept = await perform(store, { ...place, serve, short, signal: interrupt.signal });
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

interface Performance extends Wanted {
  readonly url: string;
  readonly folder: string;
  readonly description: string;
  readonly signal: AbortSignal;
}

/** Whether every promise held. */
async function perform(store: Store, { url, folder, description, serve, short, signal }: Performance): Promise<boolean> {
  const ttlMs = Math.max(TTL_MS, store.capabilities.minTtlMs);
  const screen = new Screen();
  screen.title('Incumbent: brokers and their controller, after Kafka', `on ${description}; ttl ${ttlMs / 1_000} s`);
  const cluster = new Cluster({ url, ttlMs, folder, signal });
  const stage = new Stage(store, { cluster, screen, serve });
  await stage.untilFree();
  await removePartitions(store);
  const producers = new Producers({ brokers: () => stage.urls, partitions: () => LOADED });
  const control = serve ? new Control({ cluster, producers }) : undefined;
  try {
    await play(stage, { producers, short });
    const acknowledged = await pausedLoad(producers);
    const messages = { acknowledged, read: await readBack(stage) };
    const effects = await partitionsOf(store, LATE_TOPIC);
    if (!serve) await leave(stage);
    const { heard, validSpans, lives, pauses } = cluster;
    const told = { heard, validSpans, lives, pauses, acts: stage.acts };
    const history = { ...told, messages, effects, leftovers: serve ? undefined : await findTraces(store) };
    const findings = judge(history);
    screen.lines(closing(history, findings));
    if (serve) await stayUp(stage, producers);
    return findings.every(({ broken }) => broken.length === 0);
  } finally {
    control?.stop();
    await producers.stop();
    await cluster.close();
    await removePartitions(store);
  }
}

async function pausedLoad(producers: Producers): Promise<readonly string[]> {
  await producers.stop();
  return [...producers.acknowledged];
}

/** Everything that can be read. */
async function readBack(stage: Stage): Promise<readonly string[]> {
  const read: string[] = [];
  for (const partition of (await stage.partitions()).keys())
    read.push(...(await untilAnswered(() => readAll(stage.urls[0] ?? '', partition))));
  return read;
}

/** Runs until somebody ends it. */
async function stayUp({ cluster, screen, urls }: Stage, producers: Producers): Promise<void> {
  producers.start();
  screen.lines([`  The page stays up: ${strong(urls[0] ?? '')}   Ctrl-C ends it.`, '']);
  await once(cluster.options.signal, 'abort');
}
