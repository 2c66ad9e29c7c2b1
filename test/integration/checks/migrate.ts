/** Rolling migrations from other libraries and tools, by the programs of `docs/migrating`. */

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import {
  programsOf,
  requireStore,
  spawnScript,
  startConsul,
  startEtcd,
  startRedis,
  until,
  type RequiredStore,
  type ScriptEvent,
  type ScriptProcess,
} from '@incumbent/test-support';
import type { Check, Figures } from './check.ts';
import { startKubernetesHost, writeAccount } from './kubernetes-host.ts';
import { at, freshNamespace, storeUrl } from './pair.ts';

const PROGRAMS = new URL('../../../examples/migrating/', import.meta.url);
const TIMED_LINES = new URL('../timed-lines.ts', import.meta.url);
const TOOL = new URL('../tool.ts', import.meta.url);
const LOGGING = new URL('../logging.ts', import.meta.url);
const TICKING = fileURLToPath(new URL('../ticking.ts', import.meta.url));
const MAIN = fileURLToPath(new URL('../../../packages/cli/src/main.ts', import.meta.url));
const NODE = [process.execPath, '--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning'];

const PROCESSES = 3;
/** The session of `consul lock` that was killed ends within 30 s, and delays the lock by 15 s. */
const WAIT_MS = 90_000;
/** How often a program that has the lock works, in ms. */
const EVERY_MS = 5;

/** What a process of a migration runs: the old program, both together, or the new one alone. */
const STAGES = ['before', 'rolling', 'after'] as const;
type Stage = (typeof STAGES)[number];

/** Starts a process of a stage. Each unit of its work is an event that `isWork` accepts. */
export interface Migration extends AsyncDisposable {
  start(stage: Stage): Promise<ScriptProcess>;
  isWork(event: ScriptEvent): boolean;
  /** Sends SIGTERM, and waits until the process has ended. */
  stop(script: ScriptProcess): Promise<void>;
}

/** The works of one process, from the first to the last one. */
interface Spell {
  readonly from: number;
  readonly to: number;
}

/**
 * Starts three old processes, replaces each by one of the middle stage, and each of these by a new
 * one. The new process runs before the old one is stopped.
 */
export async function migrate(migration: Migration): Promise<Figures> {
  const all: ScriptProcess[] = [];
  await using stack = new AsyncDisposableStack();
  const add = async (stage: Stage): Promise<ScriptProcess> => {
    const script = stack.use(await migration.start(stage));
    all.push(script);
    return script;
  };
  // The new program of etcd3 reports only its election, so it works until it ends.
  const isWorking = (script: ScriptProcess, time: number): boolean => {
    const works = script.events.filter((event) => migration.isWork(event));
    return works.some((event) => at(event) > time) || (works.length > 0 && script.running && all.indexOf(script) >= 2 * PROCESSES);
  };
  const untilWorkAfter = async (time: number): Promise<void> => {
    await until(() => all.some((script) => isWorking(script, time)), { what: 'a process works', withinMs: WAIT_MS });
  };
  for (let count = 0; count < PROCESSES; count += 1) await add('before');
  await untilWorkAfter(-Infinity);
  for (let count = 0; count < 2 * PROCESSES; count += 1) {
    const old = all[count];
    assert.ok(old !== undefined);
    await add(count < PROCESSES ? 'rolling' : 'after');
    const stoppedAt = Number(process.hrtime.bigint()) / 1e6;
    await migration.stop(old);
    await untilWorkAfter(stoppedAt);
  }
  for (const script of all.slice(2 * PROCESSES)) await migration.stop(script);
  return figuresOf(all.map(({ events }) => events.filter((event) => migration.isWork(event)).map(at)));
}

/** @param works The times of the works of each process, in order. */
function figuresOf(works: readonly (readonly number[])[]): Figures {
  const sorted = works.flatMap((times, process) => times.map((time) => ({ process, time }))).toSorted((a, b) => a.time - b.time);
  const spells = works.map((times): Spell => ({ from: times[0] ?? Infinity, to: times.at(-1) ?? -Infinity }));
  const isInside = ({ process, time }: (typeof sorted)[number]): boolean =>
    spells.some(({ from, to }, other) => other !== process && time > from && time < to);
  const overlaps = sorted.filter(isInside).length;
  const worked = works.filter(({ length }) => length > 0).length;
  let longestGapMs = 0;
  for (const [index, { time }] of sorted.entries()) longestGapMs = Math.max(longestGapMs, time - (sorted[index - 1]?.time ?? time));
  assert.equal(overlaps, 0, 'a process worked while another one had the lock');
  return { overlaps, worked, works: sorted.length, longestGapMs };
}

/** A migration by the programs of `examples/migrating`, which print a line for each work. */
function byPrograms(
  name: string,
  args: (stage: Stage) => readonly string[],
  line: RegExp,
  end: () => Promise<void>,
  moreEnv: Readonly<Record<string, string>> = {},
): Migration {
  const folders: Readonly<Record<Stage, string>> = { before: 'before/', rolling: 'rolling/', after: '' };
  return {
    start: async (stage) => {
      const env = { ...moreEnv, NODE_OPTIONS: `--import=${TIMED_LINES.href}` };
      const script = await spawnScript(new URL(`${folders[stage]}${name}.ts`, PROGRAMS), { args: args(stage), env });
      await script.waitFor('stoppable', { withinMs: WAIT_MS });
      return script;
    },
    isWork: ({ event, fields }) => event === 'line' && line.test(String(fields['text'])),
    stop: async (script) => {
      script.sigterm();
      assert.equal(await script.exited, 0, script.output.join('\n'));
    },
    [Symbol.asyncDispose]: end,
  };
}

async function fromRedlock(): Promise<Migration> {
  const server = await startRedis();
  const url = server.url.replace(/\/$/, '');
  const every = String(EVERY_MS);
  return byPrograms(
    'redlock',
    (stage) => [stage === 'after' ? `${url}/my-app` : url, every],
    /^report/,
    () => server.stop(),
  );
}

async function fromEtcd3(): Promise<Migration> {
  const server = await startEtcd();
  const { host } = new URL(server.url);
  const every = String(EVERY_MS);
  return byPrograms(
    'etcd3',
    (stage) => [stage === 'after' ? `etcd://${host}/my-app` : host, every],
    // The new program says only that it is elected.
    /^(?:schedule of|elected)/,
    () => server.stop(),
  );
}

async function fromConsulLock(): Promise<Migration> {
  const server = await startConsul();
  const lock = freshNamespace();
  const ticking = [...NODE, TICKING];
  const run = [...NODE, MAIN, 'run', '-q', '--store', storeUrl([server.url], lock, 'consul'), '--election', 'cron', '--', ...ticking];
  const consul = `${await programsOf('consul')}/consul`;
  const old = [consul, 'lock', `-http-addr=${server.url}`, '-child-exit-code', '-shell=false', `${lock}/cron`];
  const commands: Readonly<Record<Stage, readonly string[]>> = { before: [...old, ...ticking], rolling: [...old, ...run], after: run };
  return {
    start: async (stage) => spawnScript(TOOL, { args: commands[stage] }),
    isWork: ({ event }) => event === 'tick',
    stop: async (script) => {
      const tool = await script.waitFor('tool', { withinMs: WAIT_MS });
      process.kill(Number(tool.fields['pid']), 'SIGTERM');
      await script.waitFor('toolEnded', { withinMs: WAIT_MS });
    },
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

/** The old program is in Go, compiled together with the API server. */
export async function fromClientGo(): Promise<Migration> {
  const server = await startKubernetesHost();
  const goProgram = `${await programsOf('kubernetes')}/client-go`;
  const { folder, env } = writeAccount(server);
  const url = storeUrl([server.url], 'my-app', 'kubernetes');
  const every = String(EVERY_MS);
  const migration = byPrograms(
    'client-go',
    (stage) => (stage === 'after' ? [url, every] : [url, every, folder]),
    /^reconciles/,
    () => server.stop(),
    env,
  );
  let started = 0;
  const startOld = async (): Promise<ScriptProcess> => {
    started += 1;
    const args = [goProgram, `-identity=old-${started}`, '-namespace=default', `-every=${EVERY_MS}ms`];
    const script = await spawnScript(LOGGING, { args, env: { KUBECONFIG: server.kubeconfig } });
    await script.waitFor('stoppable', { withinMs: WAIT_MS });
    return script;
  };
  return { ...migration, start: (stage) => (stage === 'before' ? startOld() : migration.start(stage)) };
}

interface MigrationFrom {
  readonly store: RequiredStore['store'];
  readonly open: () => Promise<Migration>;
}

export const migrations: Readonly<Record<string, MigrationFrom>> = {
  redlock: { store: 'redis', open: fromRedlock },
  etcd3: { store: 'etcd', open: fromEtcd3 },
  'consul-lock': { store: 'consul', open: fromConsulLock },
  'client-go': { store: 'kubernetes', open: fromClientGo },
};

function migrateCheck(from: string, { store, open }: MigrationFrom): Check {
  return {
    name: `migrate-${from}`,
    claim: `In a rolling migration from ${from} by the programs of [its page](../migrating/${from}.md), two processes never work at the same time.`,
    method:
      `${PROCESSES} processes of the old program on a real server. Each is replaced by one that needs both the old lock and the leadership, and then each of these by one that needs the ` +
      `leadership only: the next process starts, then the former one gets SIGTERM. The process that may work does so every ${EVERY_MS} ms. overlaps: works of a process between the first and ` +
      'the last work of another one. worked: how many of the nine processes have worked. longestGap: the longest time without work.',
    runs: 5,
    parallel: 1,
    // Only this server cannot be had everywhere.
    ...(store === 'kubernetes' ? { canRun: () => requireStore({ store, own: true }) } : {}),
    open: () =>
      Promise.resolve({
        run: async () => {
          await using migration = await open();
          return { figures: await migrate(migration) };
        },
        [Symbol.asyncDispose]: () => Promise.resolve(),
      }),
  };
}

export const migrateChecks: readonly Check[] = Object.entries(migrations).map(([from, migration]) => migrateCheck(from, migration));
