/**
 * A leader that is killed, stopped, cut off, or deleted by an operator: who leads next, when, and
 * whether the former leader knows.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { startProxy, type Proxy } from '@incumbent/test-support';
import { openStore } from 'incumbent';
import type { Contestant } from '../harness/contestants.ts';
import { msBetween, stampOf, type Driver, type DriverEvent } from '../harness/driver.ts';
import { canDelete, deleteLeader } from '../harness/operator.ts';
import type { Bar, Bench, Chart, Scenario, Section, Target } from '../harness/run.ts';
import { number, shown, spreadOf } from '../harness/spread.ts';
import { freshNamespace, STORES, type Stage, type StoreName } from '../harness/stage.ts';

type Harm = 'crash' | 'pause' | 'cut' | 'delete';

/** The ttl of all contestants of a store, unless a library or a store needs more. */
const TTL_MS: Readonly<Record<StoreName, number>> = {
  etcd: 3_000,
  zookeeper: 3_000,
  consul: 3_000,
  postgres: 3_000,
  redis: 3_000,
  // The usual LeaseDuration of client-go.
  kubernetes: 15_000,
  sqlite: 3_000,
  memory: 3_000,
};
/**
 * Consul's shortest ttl of a session without a check. Consul ends the session within twice that.
 */
const CONSUL_PEER_TTL_MS = 10_000;
const WITHIN_MS = 45_000;
/** How long to watch the former leader after the next one leads, in ms. */
const WATCHED_MS = 2_000;

interface Trial {
  /** From the fault to the next leader, in ms. */
  readonly nextMs: number;
  /** From the moment at which a bystander learns that the leader's key was deleted, in ms. */
  readonly beyondMs: number | undefined;
  /**
   * From the last moment at which the former leader was valid to the next election, in ms. Below 0
   * two were valid.
   */
  readonly marginMs: number | undefined;
}

function ttlOf({ store, kind }: Contestant): number {
  return store === 'consul' && kind === 'peer' ? CONSUL_PEER_TTL_MS : TTL_MS[store];
}

/**
 * When the leader's record is deleted, as the SDK's own client reports to a process that takes no
 * part.
 */
async function bystander(stage: Stage, namespace: string, signal: AbortSignal): Promise<() => bigint | undefined> {
  const store = await openStore(stage.storeUrl(namespace));
  let goneAt: bigint | undefined;
  const looked = Promise.withResolvers<void>();
  const watch = async (): Promise<void> => {
    for await (const entry of store.watch('elections/e/leader', { signal, values: false })) {
      if (entry === undefined) goneAt ??= process.hrtime.bigint();
      looked.resolve();
    }
    await store.close();
  };
  void watch();
  await looked.promise;
  return () => goneAt;
}

async function trial(bench: Bench, contestant: Contestant, harm: Harm): Promise<Trial> {
  const stage = await bench.stage(contestant.store);
  const [namespace, ttlMs] = [freshNamespace(), ttlOf(contestant)];
  await using proxy: Proxy | undefined = harm === 'cut' ? await startProxy(stage.url) : undefined;
  await using a = await bench.start(contestant, { namespace, ttlMs, ...(proxy === undefined ? {} : { url: proxy.url }) });
  await a.ask({ do: 'campaign', as: 'a' }, 'leads');
  await using b = await bench.start(contestant, { namespace, ttlMs });
  b.send({ do: 'campaign', as: 'b' });
  a.send({ do: 'reportLeading', as: 'a' });
  const over = new AbortController();
  const goneAt =
    contestant.kind === 'ours' && harm === 'crash' ? await bystander(stage, namespace, over.signal) : (): undefined => undefined;
  await sleep(1_500 + (Math.random() * ttlMs) / 3);
  const inflict: { readonly [H in Harm]: () => unknown } = {
    crash: () => a.signal('SIGKILL'),
    pause: () => a.signal('SIGSTOP'),
    cut: () => proxy?.blackhole(),
    delete: () => deleteLeader(stage, contestant, namespace),
  };
  const from = process.hrtime.bigint();
  await inflict[harm]();
  const leads = await b.waitFor('leads', { withinMs: WITHIN_MS });
  if (harm === 'pause') {
    await sleep(500);
    a.signal('SIGCONT');
  }
  if (harm !== 'crash') await sleep(WATCHED_MS);
  over.abort();
  const gone = goneAt();
  const lastLeadingAt = harm === 'crash' ? undefined : lastLeading(a);
  return {
    nextMs: msBetween(from, leads.at),
    beyondMs: gone === undefined ? undefined : msBetween(gone, leads.at),
    marginMs: lastLeadingAt === undefined ? undefined : msBetween(lastLeadingAt, leads.at),
  };
}

function lastLeading({ events }: Driver): bigint | undefined {
  const last: DriverEvent | undefined = events.findLast(({ event }) => event === 'leading');
  return last === undefined ? undefined : stampOf(last, 'from');
}

const MOST_BEYOND_MS = 10;

/** The commands have fixed ttls of 15 s and 60 s, so one trial takes up to a minute. */
function takesPart(contestant: Contestant, harm: Harm): boolean {
  const { kind, mode, many, oneProcess, store } = contestant;
  if (kind === 'floor' || mode === 'handover' || !many || oneProcess === true) return false;
  return (harm !== 'cut' || store !== 'sqlite') && (harm !== 'delete' || canDelete(contestant));
}

function targetsOf(harm: Harm, store: StoreName, trials: readonly Trial[]): readonly Target[] {
  const beyond = spreadOf(trials.flatMap(({ beyondMs }) => beyondMs ?? []));
  const margins = trials.flatMap(({ marginMs }) => marginMs ?? []);
  if (harm === 'crash' && beyond !== undefined) {
    const wanted = `the next one leads under ${MOST_BEYOND_MS} ms after the store's own expiry`;
    return [{ what: `crash, ${store}`, wanted, measured: `${number(beyond.median)} ms`, met: beyond.median < MOST_BEYOND_MS }];
  }
  if (harm !== 'cut' || margins.length === 0) return [];
  const least = Math.min(...margins);
  const positive = margins.filter((margin) => margin > 0).length;
  const measured = `${positive} of ${margins.length}, at least ${number(least)} ms`;
  return [
    {
      what: `cut off, ${store}`,
      wanted: 'the former leader no longer considers itself leader before, every time',
      measured,
      met: least > 0,
    },
  ];
}

function rowOf(contestant: Contestant, trials: readonly Trial[]): readonly string[] {
  const next = spreadOf(trials.map(({ nextMs }) => nextMs / 1_000));
  const beyond = spreadOf(trials.flatMap(({ beyondMs }) => beyondMs ?? []));
  const margins = trials.flatMap(({ marginMs }) => marginMs ?? []);
  const two = margins.length === 0 ? '–' : `${margins.filter((margin) => margin <= 0).length} of ${margins.length}`;
  const name = contestant.kind === 'ours' ? 'incumbent' : contestant.name;
  return [
    contestant.store,
    name,
    number(ttlOf(contestant) / 1_000),
    shown(next),
    shown(beyond),
    shown(spreadOf(margins)),
    two,
    String(trials.length),
  ];
}

type Measured = readonly [Contestant, readonly Trial[]];

/** All contestants of a store run at the same time, because each mostly waits for leases. */
async function ofStore(bench: Bench, harm: Harm, store: StoreName, times: number): Promise<readonly Measured[]> {
  const contestants = (await bench.contestants(store)).filter((contestant) => takesPart(contestant, harm));
  const trialsOf = async (contestant: Contestant): Promise<Measured> => {
    const trials: Trial[] = [];
    try {
      while (trials.length < times) trials.push(await trial(bench, contestant, harm));
    } catch (error) {
      bench.drop({ ...contestant, name: `${contestant.name}, ${harm}` }, error);
    }
    return [contestant, trials];
  };
  return Promise.all(contestants.map(trialsOf));
}

async function measure(bench: Bench, harm: Harm, times: number): Promise<Pick<Section, 'tables' | 'charts' | 'targets'>> {
  const stores = STORES.filter((name) => bench.options.stores.includes(name));
  const measured: Measured[] = [];
  for (const store of stores) measured.push(...(await ofStore(bench, harm, store, times)));
  const rows = measured.map(([contestant, trials]) => rowOf(contestant, trials));
  const targets = measured.flatMap(([{ kind, store }, trials]) => (kind === 'ours' ? targetsOf(harm, store, trials) : []));
  const head = ['', '', 'ttl, s', 'next leader after, s', 'beyond the expiry, ms', 'margin, ms', 'two leaders', 'n'];
  return { tables: [{ table: { head, rows } }], charts: harm === 'cut' ? [chartOf(stores, measured)] : [], targets };
}

/** For how long two considered themselves leader. */
function chartOf(stores: readonly StoreName[], measured: readonly Measured[]): Chart {
  const barsOf = (store: StoreName): readonly Bar[] =>
    measured.flatMap(([contestant, trials]) => {
      const spread = spreadOf(trials.flatMap(({ marginMs }) => (marginMs === undefined ? [] : [Math.max(0, -marginMs)])));
      const label = contestant.kind === 'ours' ? 'incumbent' : contestant.name;
      return contestant.store === store && spread !== undefined ? [{ label, kind: contestant.kind, spread }] : [];
    });
  const groups = stores.map((store) => ({ title: store, bars: barsOf(store) })).filter(({ bars }) => bars.length > 0);
  return {
    name: 'cut',
    title: 'A leader cut off: for how long two processes consider themselves leader (watched for 2 s)',
    unit: 'ms',
    groups,
  };
}

const scenario = (harm: Harm, title: string, method: string): Scenario => ({
  name: harm,
  run: async (bench) => ({ title, method, ...(await measure(bench, harm, bench.options.quick ? 1 : 4)) }),
});

const STAGE =
  'Two candidates, a process each; the leader asks itself every 5 ms whether it leads, as the library says it. The contestants of a store run at the same time. ';

export const crash: Scenario = scenario(
  'crash',
  'Crash',
  `${STAGE}The leader's process is killed (SIGKILL) at a random phase of its renewals. Next leader: from the kill. Beyond the expiry: from the moment at which a bystander, by the SDK's own client, is told that the leader's key has gone, to the next one being told that it leads. ` +
    'The two commands, whose ttl is their own, are left out.',
);

export const pause: Scenario = scenario(
  'pause',
  'Pause',
  `${STAGE}The leader's process is stopped (SIGSTOP) until half a second after the next one leads, then goes on. Margin: from the last moment at which the former leader was valid, within two seconds of that, to the next one being told that it leads; below 0, there were two.`,
);

export const cut: Scenario = scenario(
  'cut',
  'Cut off',
  `${STAGE}The leader's link is a proxy that from a random moment on accepts bytes and passes none on, and tells nobody. Margin: from the last moment at which the former leader was valid, watched until two seconds after, to the next one being told that it leads; below 0, there were two, for that long or longer.`,
);

export const operatorDelete: Scenario = scenario(
  'delete',
  'Operator delete',
  `${STAGE}An operator deletes the key by which the leader leads, with the means of the store. Next leader: from just before that. Margin: from the last moment at which the former leader was valid, watched until two seconds after, to the next one being told that it leads; below 0, there were two, for that long or longer. By which nodes kazoo and Curator lead the harness does not know.`,
);
