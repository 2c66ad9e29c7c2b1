import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import {
  freePort,
  LOOPBACK,
  makeScratch,
  requireStore,
  sharedConsul,
  sharedEtcd,
  sharedPostgres,
  sharedZookeeper,
  spawnScript,
  until,
  type Scratch,
  type ScriptProcess,
} from '@incumbent/test-support';
import { Member, openStore } from 'incumbent';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshNamespace, storeUrl } from './checks/pair.ts';

const DEMO = new URL('../../examples/kafka-controller/index.ts', import.meta.url);
const WAIT_MS = 60_000;

/** Which stores are available. */
const awaited = {
  etcd: await requireStore({ store: 'etcd' }),
  zookeeper: await requireStore({ store: 'zookeeper' }),
  consul: await requireStore({ store: 'consul' }),
  postgres: await requireStore({ store: 'postgres' }),
};

/** Where the demo makes its temporary folders. */
let scratch: Scratch;
let files: Scratch;
beforeAll(async () => {
  [scratch, files] = await Promise.all([makeScratch('a folder %20'), makeScratch('demo')]);
});
afterAll(async () => Promise.all([scratch.remove(), files.remove()]));

/** A database of its own, which outlives the run: faster, where the store does not matter. */
function fileUrl(): string {
  return `sqlite:${files.path}/${freshNamespace()}.db`;
}

async function start(...args: readonly string[]): Promise<ScriptProcess> {
  return spawnScript(DEMO, { args, env: { NO_COLOR: '1', TMPDIR: scratch.path } });
}

/** What the demo prints, and its exit code. */
async function run(...args: readonly string[]): Promise<{ readonly output: string; readonly status: unknown }> {
  await using script = await start(...args);
  const status = await script.exited;
  return { output: script.output.join('\n'), status };
}

/** Waits until the demo has printed this. */
async function untilSaid(script: ScriptProcess, words: string): Promise<void> {
  await until(() => script.output.some((line) => line.includes(words)), { what: words, withinMs: WAIT_MS });
}

/**
 * The processes that were started on this store, as the system sees them; the store's URL is among
 * their arguments.
 */
async function processesOn(url: string): Promise<readonly number[]> {
  const { promise, resolve } = Promise.withResolvers<string>();
  // No match is a status of 1.
  execFile('pgrep', ['-f', `main.ts ${url}`], (_error, stdout) => resolve(stdout));
  return (await promise).split('\n').filter(Boolean).map(Number);
}

async function keysOf(url: string): Promise<readonly string[]> {
  await using store = await openStore(url);
  const call = { timeoutMs: 5_000, values: false };
  const entries = await Promise.all(['elections', 'members', 'groups', 'kafka'].map(async (prefix) => store.list(prefix, call)));
  return entries.flat().map(({ key }) => key);
}

const rows = [
  /SIGKILL +broker-\d +2 +[\d,]+ ms {3}\d/,
  /paused, before a write +broker-\d +3 +[\d,]+ ms {3}\d/,
  /paused, before a request +broker-\d +4 +[\d,]+ ms {3}\d/,
  /handover by name +broker-\d +5 +[\d,]+ ms /,
  /rolling restart +broker-\d +\d+ +[\d,]+ ms /,
  /messages lost +0$/m,
  /stale writes refused +\d+: [1-9]\d* by the store, [1-9]\d* by brokers, \d+ by replicas$/m,
];

const shortRows = [
  /SIGKILL +broker-\d +2 +[\d,]+ ms {3}\d/,
  /paused, before a write +broker-\d +3 +[\d,]+ ms {3}\d/,
  /handover by name +broker-\d +4 +[\d,]+ ms /,
  /messages lost +0$/m,
  /stale writes refused +\d+: [1-9]\d* by the store/m,
];

/** Expects all acts and promises, and no colours, because the output is not a terminal. */
function expectStory(output: string, expected: readonly RegExp[] = rows): void {
  for (const row of expected) expect(output).toMatch(row);
  expect(output.match(/^ {2}✓ .*$/gm)).toHaveLength(9);
  expect(output).toContain('Every promise held.');
  expect(output).not.toContain('\u001B');
}

// A run takes minutes, because leases expire.
const MINUTES = { timeout: 240_000 };

const servers = { etcd: sharedEtcd, zookeeper: sharedZookeeper, consul: sharedConsul, postgres: sharedPostgres } as const;

describe.each(['etcd', 'zookeeper', 'consul', 'postgres'] as const)('pnpm demo --short --store %s:', MINUTES, (store) => {
  it.runIf(awaited[store])('tells its story, keeps every promise, and leaves nothing but the term', async () => {
    const { url: address } = await servers[store]();
    const url = storeUrl([address], freshNamespace(), store);
    const { output, status } = await run('--short', '--store', url);
    expectStory(output, shortRows);
    expect(status).toBe(0);
    expect(await keysOf(url)).toEqual(['elections/kafka-controller/term']);
  });
});

describe('pnpm demo', MINUTES, () => {
  it('runs on SQLite by default, and leaves no file', async () => {
    const { output, status } = await run();
    expectStory(output);
    expect(output).toContain('on SQLite, in a temporary file');
    expect(status).toBe(0);
    expect(await readdir(scratch.path)).toEqual([]);
  });

  it('leaves no file and no process when it is told to stop, one that stands still included', async () => {
    const url = fileUrl();
    await using script = await start('--store', url);
    await untilSaid(script, 'stands still');
    expect(await readdir(scratch.path)).toContainEqual(expect.stringMatching(/^incumbent-demo-/));
    script.sigterm();
    expect(await script.exited).toBe(143);
    expect(await processesOn(url)).toEqual([]);
    expect(await readdir(scratch.path)).toEqual([]);
  });

  it('ends with a failure and its reason when another process becomes the controller', async () => {
    const url = fileUrl();
    await using store = await openStore(url);
    await using stranger = new Member(store, { memberId: 'mallory' });
    const election = stranger.election('kafka-controller');
    await using script = await start('--short', '--store', url);
    await until(async () => (await election.candidates()).length === 5, { what: 'five candidates', withinMs: WAIT_MS });
    const leading = election.campaign();
    expect(await script.exited).toBe(1);
    const output = script.output.join('\n');
    expect(output).not.toContain('Every promise held');
    await leading;
  });

  it('says in words that a broker has crashed, ends the others and fails', async () => {
    const url = fileUrl();
    await using script = await start('--store', url);
    await untilSaid(script, 'in line');
    const [victim = NaN] = await processesOn(url);
    process.kill(victim, 'SIGKILL');
    expect(await script.exited).toBe(1);
    expect(script.output.join('\n')).toMatch(/The demo could not go on: broker-\d ended by itself \(SIGKILL\)/);
    expect(await processesOn(url)).toEqual([]);
  });

  it('refuses to run beside another, and does it no harm', async () => {
    const url = fileUrl();
    await using first = await start('--store', url);
    await untilSaid(first, 'in line');
    await using second = await start('--store', url);
    expect(await second.exited).toBe(1);
    expect(second.output.join('\n')).toContain('others campaign for "kafka-controller" on this store: is another demo running?');
    await untilSaid(first, '4  The next one is paused');
    first.sigterm(); // by itself, so that it ends a broker that stands still
    expect(await first.exited).toBe(143);
  });

  it('says in words that a store cannot be opened', async () => {
    const { output, status } = await run('--store', `etcd://${LOOPBACK}:${await freePort()}/demo?connectTimeoutMs=1000`);
    expect(output.trim()).toMatch(/^The store could not be opened: .*ECONNREFUSED.*$/);
    expect(status).toBe(1);
  });

  it.each([
    [['--stroe', 'etcd://127.0.0.1:2379'], "Unknown option '--stroe'"],
    [['--store', 'memory:'], 'the memory store lives in one process'],
    [['--store', 'mongodb://127.0.0.1'], 'it knows consul:'],
    [['--store', 'etcd://'], 'it must be etcd://host:port'],
  ])('%j: says what is wrong, with an exit code of its own', async (args, problem) => {
    const { output, status } = await run(...args);
    expect(output).toContain(problem);
    expect(output).not.toMatch(/^\s+at /m);
    expect(status).toBe(2);
  });
});
