/** One run of the demo, from opening the store to leaving it as it was. */

import { openStore, type Store } from 'incumbent';
import { Cast } from './cast.ts';
import { closing } from './closing.ts';
import { findPlace } from './place.ts';
import { Screen } from './screen.ts';
import { Stage } from './stage.ts';
import { play } from './story.ts';
import { findTraces, removeOrders } from './traces.ts';
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
    const kept = await perform(store, { url: place.url, description: place.description, signal: interrupt.signal });
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
  readonly description: string;
  readonly signal: AbortSignal;
}

/** Whether every promise held. */
async function perform(store: Store, { url, description, signal }: Performance): Promise<boolean> {
  const ttlMs = Math.max(TTL_MS, store.capabilities.minTtlMs);
  const screen = new Screen();
  screen.title(
    'Incumbent: three processes, one leader',
    `on ${description}; ttl ${ttlMs / 1_000} s`,
    'each process asks isValid() every few ms; in the end all answers are compared',
  );
  const cast = new Cast({ url, ttlMs, signal });
  const stage = new Stage(store, { cast, screen, ttlMs });
  await stage.untilFree();
  await removeOrders(store);
  try {
    await play(stage);
    const history = { told: cast.told, acts: stage.acts, lives: cast.lives, leftovers: await findTraces(store) };
    const findings = judge(history);
    screen.lines(closing(history, findings));
    return findings.every(({ broken }) => broken.length === 0);
  } finally {
    await cast.close();
    await removeOrders(store);
  }
}
