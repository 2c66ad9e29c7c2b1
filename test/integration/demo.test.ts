import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import {
  freePort,
  LOOPBACK,
  makeScratch,
  spawnScript,
  startEtcd,
  until,
  type EtcdServer,
  type Scratch,
  type ScriptProcess,
} from '@incumbent/test-support';
import { Member, openStore } from 'incumbent';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshNamespace, storeUrl } from './checks/pair.ts';

const DEMO = new URL('../../examples/demo/index.ts', import.meta.url);
const PATIENCE_MS = 30_000;

let etcd: EtcdServer;
/** Where the demo makes its temporary folders. */
let scratch: Scratch;
let files: Scratch;
beforeAll(async () => {
  [etcd, scratch, files] = await Promise.all([startEtcd(), makeScratch('a folder %20'), makeScratch('demo')]);
});
afterAll(async () => Promise.all([etcd.stop(), scratch.remove(), files.remove()]));

function freshUrl(): string {
  return storeUrl([etcd.url], freshNamespace());
}

/** A database of its own, which outlives the run: faster, where the store does not matter. */
function fileUrl(): string {
  return `sqlite:${files.path}/${freshNamespace()}.db`;
}

async function start(...args: readonly string[]): Promise<ScriptProcess> {
  return spawnScript(DEMO, { args, env: { NO_COLOR: '1', TMPDIR: scratch.path } });
}

/** What the demo prints, and how it ends. */
async function run(...args: readonly string[]): Promise<{ readonly output: string; readonly status: unknown }> {
  await using script = await start(...args);
  const status = await script.exited;
  return { output: script.output.join('\n'), status };
}

/** Waits until the demo has printed this. */
async function untilSaid(script: ScriptProcess, words: string): Promise<void> {
  await until(() => script.output.some((line) => line.includes(words)), { what: words, withinMs: PATIENCE_MS });
}

/** The processes that were started on this store, as the system sees them; the store's URL is among their arguments. */
async function processesOn(url: string): Promise<readonly number[]> {
  const { promise, resolve } = Promise.withResolvers<string>();
  // No match is a status of 1.
  execFile('pgrep', ['-f', `member.ts ${url}`], (_error, stdout) => resolve(stdout));
  return (await promise).split('\n').filter(Boolean).map(Number);
}

async function keysOf(url: string): Promise<readonly string[]> {
  await using store = await openStore(url);
  const call = { timeoutMs: 5_000, values: false };
  const entries = await Promise.all(['elections', 'members', 'groups', 'demo'].map(async (prefix) => store.list(prefix, call)));
  return entries.flat().map(({ key }) => key);
}

const rows = [
  /SIGKILL +\w+ → \w+ +2 +[\d,]+ ms {2}the next one leads/,
  /SIGSTOP +\w+ → \w+ +3 +[\d,]+ ms {2}the late write is refused/,
  /handover by name +\w+ → \w+ +4 +[\d,]+ ms {2}the one named leads/,
  /SIGTERM +\w+ → \w+ +5 +[\d,]+ ms {2}no lease had to expire/,
];

/** All acts, all promises, and not a colour, for nobody watches. */
function expectStory(output: string): void {
  for (const row of rows) expect(output).toMatch(row);
  expect(output.match(/^ {2}✓ .*$/gm)).toHaveLength(8);
  expect(output).toContain('Every promise held.');
  expect(output).not.toContain('\u001B');
}

// A run takes its time: leases expire.
describe('pnpm demo', { timeout: 60_000 }, () => {
  it('tells its story, ends with a table and the promises, all kept, and leaves nothing but the term', async () => {
    const url = freshUrl();
    const { output, status } = await run('--store', url);
    expectStory(output);
    expect(status).toBe(0);
    expect(await keysOf(url)).toEqual(['elections/demo/term']);
  });

  it('runs on SQLite by default, and leaves no file', async () => {
    const { output, status } = await run();
    expectStory(output);
    expect(output).toContain('on SQLite, in a temporary file');
    expect(status).toBe(0);
    expect(await readdir(scratch.path)).toEqual([]);
  });

  it('leaves no file when it is told to stop', async () => {
    await using script = await start();
    await untilSaid(script, 'stands still');
    expect(await readdir(scratch.path)).toEqual([expect.stringMatching(/^incumbent-demo-/)]);
    script.sigterm();
    expect(await script.exited).toBe(143);
    expect(await readdir(scratch.path)).toEqual([]);
  });

  it('ends with a failure, and says of what, when a stranger takes the office', async () => {
    const url = fileUrl();
    await using store = await openStore(url);
    await using stranger = new Member(store, { memberId: 'mallory' });
    const election = stranger.election('demo');
    await using script = await start('--store', url);
    await until(async () => (await election.candidates()).length === 3, { what: 'three candidates', withinMs: PATIENCE_MS });
    const leading = election.campaign();
    expect(await script.exited).toBe(1);
    const output = script.output.join('\n');
    expect(output).toMatch(/SIGTERM +\w+ → nobody +[\d,]+ ms {2}nothing: see below/);
    expect(output).toMatch(/✗ no vacancy lasted longer than its limit\n +after \w+ \(SIGTERM\), nobody led for [\d.]+ s/);
    expect(output).toContain('elections/demo/leader was left in the store');
    expect(output).not.toContain('Every promise held');
    await leading;
  });

  it('says in words that a member has crashed, ends the others and fails', async () => {
    const url = fileUrl();
    await using script = await start('--store', url);
    await untilSaid(script, 'is killed');
    const [victim = NaN] = await processesOn(url);
    process.kill(victim, 'SIGKILL');
    expect(await script.exited).toBe(1);
    expect(script.output.join('\n')).toMatch(/The demo could not go on: \w+ ended by itself \(SIGKILL\)\n/);
    expect(await processesOn(url)).toEqual([]);
  });

  it('ends its members when it is told to stop, one that stands still included, and the next run waits for their leases', async () => {
    const url = freshUrl();
    await using script = await start('--store', url);
    await untilSaid(script, 'stands still');
    script.sigterm();
    expect(await script.exited).toBe(143);
    expect(await processesOn(url)).toEqual([]);
    await using next = await start('--store', url);
    await untilSaid(next, 'leads in term 3');
  });

  it('refuses to run beside another, and does it no harm', async () => {
    const url = fileUrl();
    await using first = await start('--store', url);
    await untilSaid(first, 'in line');
    await using second = await start('--store', url);
    expect(await second.exited).toBe(1);
    expect(second.output.join('\n')).toContain('others campaign for "demo" on this store: is another demo running?');
    expect(await first.exited).toBe(0);
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
