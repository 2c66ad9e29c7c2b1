import { readFileSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  freePort,
  makeScratch,
  requireStore,
  type Scratch,
  type ScriptProcess,
  sharedConsul,
  sharedEtcd,
  sharedPostgres,
  sharedRedis,
  sharedZookeeper,
  spawnScript,
  startEtcd,
  startRedis,
  until,
} from '@incumbent/test-support';
import { openStore } from 'incumbent';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freshNamespace, storeUrl } from './checks/pair.ts';

const WAIT_MS = 45_000;
const ROOT = new URL('../../', import.meta.url);
const QUICKSTART = new URL('examples/quickstart/index.ts', ROOT);

/** Folders in which a guide's reader has saved the programs of a page. */
let folder: Scratch;

beforeEach(async () => {
  folder = await makeScratch('guide');
  await symlink(fileURLToPath(new URL('node_modules', import.meta.url)), join(folder.path, 'node_modules'));
});
afterEach(async () => folder.remove());

/** Saves every program of a page under the name that the sentence before it gives. */
async function save(page: string): Promise<void> {
  const text = readFileSync(new URL(page, ROOT), 'utf8');
  const programs = [...text.matchAll(/`([\w-]+\.[cm]js)`:\n\n```js\n([^]*?)```/g)];
  expect(programs.length).toBeGreaterThan(0);
  for (const [, name = '', code = ''] of programs) await writeFile(join(folder.path, name), code);
}

function start(name: string, ...args: readonly string[]): Promise<ScriptProcess> {
  return spawnScript(join(folder.path, name), { args, cwd: folder.path });
}

/** Waits for a line of output, and returns it. */
function said(script: ScriptProcess, words: RegExp): Promise<string> {
  return until(() => script.output.find((line) => words.test(line)), { what: `a line like ${words}`, withinMs: WAIT_MS });
}

/** Stops a script by two signals, because npm and terminals may send one stop twice. */
async function stopTwice(script: ScriptProcess): Promise<void> {
  script.sigterm();
  await sleep(5);
  script.sigterm();
  expect(await script.exited).toBe(0);
}

describe('the programs of the guide', () => {
  it('README: the first process leads, and the second one after it', async () => {
    await save('README.md');
    await using first = await start('leader.mjs');
    expect(await said(first, /leads/)).toBe(`worker-${first.pid} leads in term 1`);
    await using second = await start('leader.mjs');
    first.sigterm();
    expect(await said(second, /leads/)).toBe(`worker-${second.pid} leads in term 2`);
    expect(await first.exited).toBe(0);
    second.sigterm();
    expect(await second.exited).toBe(0);
  });

  it('first election: an observer sees the leader, and its end', async () => {
    await save('README.md');
    await save('docs/guide/first-election.md');
    await using leader = await start('leader.mjs');
    await said(leader, /leads/);
    await using observer = await start('watch.mjs');
    expect(await said(observer, /leads/)).toBe(`worker-${leader.pid} leads in term 1`);
    leader.sigterm();
    expect(await said(observer, /nobody/)).toBe('nobody leads: memberClosed');
  });

  it('fencing: the service refuses a lower term, also after a restart', async () => {
    await save('docs/guide/fencing.md');
    const port = await freePort();
    const write = async (term: string): Promise<readonly [status: number, highest: string | null]> => {
      const headers = { 'x-term': term };
      const { status, headers: answer } = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: '7', headers });
      return [status, answer.get('x-highest-term')];
    };
    const listens = async (): Promise<boolean> => (await write('none'))[0] === 400;
    {
      await using service = await start('service.mjs', String(port));
      await until(listens, { what: 'the service', withinMs: WAIT_MS });
      expect(await write('9007199254740993')).toEqual([204, null]);
      expect(await write('9007199254740992')).toEqual([409, '9007199254740993']);
      expect(service.output).toEqual(['the price is 7, in term 9007199254740993']);
    }
    await using service = await start('service.mjs', String(port));
    await until(listens, { what: 'the service', withinMs: WAIT_MS });
    expect(await write('5')).toEqual([409, '9007199254740993']);
    expect(service.output).toEqual([]);
  });

  it('orderly stop: the work stops, and the next process works', async () => {
    await save('docs/guide/orderly-stop.md');
    await using first = await start('worker.mjs');
    await said(first, /^round 2 of term 1$/);
    await using second = await start('worker.mjs');
    first.sigterm();
    await said(second, /^round 2 of term 2$/);
    expect(await first.exited).toBe(0);
    expect(first.output.at(-1)).toBe('stopped');
    second.sigterm();
    expect(await second.exited).toBe(0);
  });

  it('membership and assignment: partitions follow a worker that joins, one that is killed, and a leader that stops', async () => {
    await save('docs/guide/assignment.md');
    const worker = (): Promise<ScriptProcess> => start('assigner.mjs', '1000');
    const has = (script: ScriptProcess, count: number): Promise<unknown> =>
      until(() => script.output.at(-1)?.match(/ p\d/g)?.length === count, { what: `${count} partitions`, withinMs: WAIT_MS });
    await using first = await worker();
    expect(await said(first, /has p0/)).toBe(`worker-${first.pid} has p0 p1 p2 p3 p4 p5`);
    await using second = await worker();
    await Promise.all([has(first, 3), has(second, 3)]);
    await using third = await worker();
    await Promise.all([has(first, 2), has(second, 2), has(third, 2)]);
    third.sigkill();
    await Promise.all([has(first, 3), has(second, 3)]);
    first.sigterm();
    expect(await first.exited).toBe(0);
    expect(await said(second, / p0 p1 p2 p3 p4 p5$/)).toBe(`worker-${second.pid} has p0 p1 p2 p3 p4 p5`);
    second.sigterm();
    expect(await second.exited).toBe(0);
  });

  it('membership and assignment: a worker that is stopped gives its partitions away before it leaves', async () => {
    await save('docs/guide/assignment.md');
    const worker = (): Promise<ScriptProcess> => start('assigner.mjs', '10000');
    await using first = await worker();
    await said(first, /has p0/);
    await using second = await worker();
    await said(second, /( p\d){3}$/);
    await stopTwice(second);
    const store = await openStore(`sqlite:${folder.path}/state.db`);
    const assignment = await store.read('assignments');
    await store.close();
    const owners = Object.values<{ owner: string }>(JSON.parse(new TextDecoder().decode(assignment?.value)));
    expect(owners.map(({ owner }) => owner)).toEqual(Array.from({ length: 6 }, () => `worker-${first.pid}`));
    first.sigterm();
    expect(await first.exited).toBe(0);
  });

  it('partitions: two processes share them, and one leads all of them when the other one stops', async () => {
    await save('docs/guide/partitions.md');
    const leads = (script: ScriptProcess, count: number): Promise<unknown> =>
      until(() => script.output.at(-1)?.match(/ \d+/g)?.length === count, { what: `${count} partitions`, withinMs: WAIT_MS });
    await using first = await start('partitions.mjs');
    await leads(first, 12);
    await using second = await start('partitions.mjs');
    await Promise.all([leads(first, 6), leads(second, 6)]);
    first.sigterm();
    expect(await first.exited).toBe(0);
    expect(first.output.at(-1)).toBe(`worker-${first.pid} leads nothing`);
    await leads(second, 12);
    second.sigterm();
    expect(await second.exited).toBe(0);
  });

  it.each(['sigterm', 'sigkill'] as const)('scheduled jobs: every run happens once, also around a %s of the leader', async (end) => {
    await save('docs/guide/scheduled-jobs.md');
    await using first = await start('cron.mjs', '100');
    await said(first, / in term 1$/);
    await using second = await start('cron.mjs', '100');
    await until(() => first.output.length >= 3, { what: 'three runs', withinMs: WAIT_MS });
    first[end]();
    await first.exited;
    await until(() => second.output.length >= 3, { what: 'three runs of the next leader', withinMs: WAIT_MS });
    const slots = [...first.output, ...second.output].map((line) => Number(/^report for (\d+) in term \d+$/.exec(line)?.[1]));
    expect(slots).toEqual([...new Set(slots)].toSorted((a, b) => a - b));
    expect(slots.every((slot) => slot % 100 === 0)).toBe(true);
    second.sigterm();
    expect(await second.exited).toBe(0);
  });

  it('scheduled jobs: a process that is stopped finishes its run, and the next one goes on', async () => {
    await save('docs/guide/scheduled-jobs.md');
    await using first = await start('finish.mjs', '2000');
    await said(first, / in term 1 begins$/);
    await using second = await start('finish.mjs', '2000');
    await stopTwice(first);
    await said(second, / in term 2 begins$/);
    second.sigterm();
    expect(await second.exited).toBe(0);
    const lines = [...first.output, ...second.output];
    const begun = lines.filter((line) => line.endsWith(' begins'));
    expect(lines.filter((line) => line.endsWith(' is finished'))).toEqual(begun.map((line) => line.replace('begins', 'is finished')));
    const slots = begun.map((line) => line.split(' ')[2]);
    expect(new Set(slots).size).toBe(slots.length);
  });

  it('scheduled jobs: the other two ways to claim a slot, and a schedule of croner, run as well', async () => {
    const text = readFileSync(new URL('docs/guide/scheduled-jobs.md', ROOT), 'utf8');
    const [program = '', ...others] = [...text.matchAll(/```js\n([^]*?)```/g)].map(([, code = '']) => code);
    const [croner = '', ...claims] = others.filter((code) => !code.startsWith('import'));
    const [time, claim] = [/^ {4}const slot = .*\n/m, /^ {4}const claimed[^]*?leadership\);\n/m];
    expect([croner, claims.length, time.test(program), claim.test(program)]).toEqual([expect.stringContaining('schedule.'), 2, true, true]);
    const scheduled = program.replace(time, croner).replace('slot + everyMs', 'next');
    const variants = claims.map((code) => program.replace(claim, code));
    variants.push(`import { Cron } from 'croner';\nconst schedule = new Cron('* * * * * *');\n${scheduled}`);
    for (const [index, variant] of variants.entries()) {
      await writeFile(join(folder.path, `variant-${index}.mjs`), variant);
      await using script = await start(`variant-${index}.mjs`, '100');
      await until(() => script.output.length >= 3, { what: 'three runs', withinMs: WAIT_MS });
      expect(new Set(script.output).size).toBe(script.output.length);
      script.sigterm();
      expect(await script.exited).toBe(0);
    }
  });

  it.each([
    ['one of the workers of a cluster leads', 'cluster.mjs', /leads in term 1$/],
    ['a thread works until the leadership ends', 'threads.mjs', /^result 2 in term 1$/],
    ['CommonJS', 'leader.cjs', /leads in term 1$/],
  ])('processes and threads: %s', async (_, program, line) => {
    await save('docs/guide/processes-and-threads.md');
    await using script = await start(program);
    await said(script, line);
    script.sigterm();
    expect(await script.exited).toBe(0);
  });
});

describe('the programs on the page of the package incumbent', () => {
  const page = readFileSync(new URL('packages/incumbent/README.md', ROOT), 'utf8');
  const programs = [...page.matchAll(/```ts\n([^]*?)```/g)].map(([, code = '']) => code);

  /** The one program that contains these words. */
  function programWith(words: string): string {
    const [code = '', ...others] = programs.filter((program) => program.includes(words));
    expect(others).toEqual([]);
    return code;
  }

  /** Starts the one program that contains these words, on a store at this URL. */
  async function run(words: string, url: string): Promise<ScriptProcess> {
    const code = programWith(words);
    const there = code.replace(/\w+:\/\/127\.0\.0\.1:\d+\/my-app/, url);
    expect(there).not.toBe(code);
    await writeFile(join(folder.path, 'program.mts'), there);
    return start('program.mts');
  }

  it.each(['await lead(', "'controller'"])('lead, and stop in order: the one with %s', async (words) => {
    await using etcd = await startEtcd();
    await using script = await run(words, storeUrl([etcd.url], freshNamespace()));
    await said(script, /^leads in term 1$/);
    script.sigterm();
    expect(await script.exited).toBe(0);
  });

  it('write the report if nobody else does', async () => {
    await using etcd = await startEtcd();
    await using script = await run('tryLead', storeUrl([etcd.url], freshNamespace()));
    expect(await script.exited).toBe(0);
    expect(script.output).toEqual(['the report of term 1']);
  });

  it('write the invoice under a lock', async () => {
    await using redis = await startRedis();
    await using script = await run("'invoices'", storeUrl([redis.url], freshNamespace(), 'redis'));
    expect(await script.exited).toBe(0);
    expect(script.output).toEqual([expect.stringMatching(/^written with the token \d+$/)]);
  });

  it('migrate in one process after the other', async () => {
    const migrate = `async () => { console.log('begins'); await new Promise((resolve) => setTimeout(resolve, 50)); console.log('ends'); }`;
    const calls = `await Promise.all([1, 2, 3].map(() => migrateOnce('sqlite:./state.db', ${migrate})));`;
    await writeFile(join(folder.path, 'program.mts'), `${programWith('migrateOnce')}\n${calls}`);
    await using script = await start('program.mts');
    expect(await script.exited).toBe(0);
    expect(script.output).toEqual(['begins', 'ends', 'begins', 'ends', 'begins', 'ends']);
  });

  it('are all run here', () => {
    expect(programs).toHaveLength(5);
  });
});

describe('the program on the page of each store', () => {
  const servers = {
    consul: sharedConsul,
    etcd: sharedEtcd,
    postgres: sharedPostgres,
    redis: sharedRedis,
    sqlite: undefined,
    zookeeper: sharedZookeeper,
  } as const;

  it.for(['consul', 'etcd', 'postgres', 'redis', 'sqlite', 'zookeeper'] as const)(
    '%s: the first process leads, and the second one after it',
    async (store, { skip }) => {
      skip(store !== 'sqlite' && !(await requireStore({ store })));
      const page = readFileSync(new URL(`packages/${store}/README.md`, ROOT), 'utf8');
      const [, program = ''] = /^## Use\n\n```ts\n([^]*?)```/m.exec(page) ?? [];
      const server = await servers[store]?.();
      const url = server === undefined || store === 'sqlite' ? 'sqlite:./state.db' : storeUrl([server.url], freshNamespace(), store);
      const there = program.replace(/(?<=openStore\(')[^']+/, url);
      expect(there).toContain(`openStore('${url}')`);
      await writeFile(join(folder.path, 'program.mts'), there);
      await using first = await start('program.mts');
      const line = await said(first, /leads in term/);
      expect(line).toContain(`-${first.pid} leads in term`);
      await using second = await start('program.mts');
      first.sigterm();
      expect(await first.exited).toBe(0);
      expect(await said(second, /leads in term/)).toContain(`-${second.pid} leads in term`);
      second.sigterm();
      expect(await second.exited).toBe(0);
    },
  );
});

describe('from one store to another', () => {
  it('processes that lead on both stores, and processes on the new one, lead one after the other', async () => {
    const page = readFileSync(new URL('docs/migrating/README.md', ROOT), 'utf8');
    const [, both = ''] = /^## From one store to another[^]*?```ts\n([^]*?)```/m.exec(page) ?? [];
    await save('README.md');
    await writeFile(join(folder.path, 'both.mts'), both);
    const [from, to] = ['sqlite:./former.db', 'sqlite:./state.db'];
    await using first = await start('both.mts', from, to);
    expect(await said(first, /leads/)).toBe(`${hostname()}-${first.pid} leads in term 1 there and 1 here`);
    await using second = await start('leader.mjs');
    first.sigterm();
    expect(await first.exited).toBe(0);
    expect(await said(second, /leads/)).toBe(`worker-${second.pid} leads in term 2`);
    await using third = await start('both.mts', from, to);
    await using fourth = await start('both.mts', from, to);
    second.sigterm();
    expect(await second.exited).toBe(0);
    const leads = (script: ScriptProcess): string | undefined => script.output.find((line) => line.includes('leads'));
    const leader = await until(() => [third, fourth].find((script) => leads(script) !== undefined), {
      what: 'a leader on both',
      withinMs: WAIT_MS,
    });
    expect(leads(leader)).toMatch(/leads in term 2 there and 3 here$/);
    leader.sigterm();
    expect(await leader.exited).toBe(0);
    const last = leader === third ? fourth : third;
    expect(await said(last, /leads/)).toMatch(/leads in term 3 there and 4 here$/);
    last.sigterm();
    expect(await last.exited).toBe(0);
  });
});

describe('the quickstart', () => {
  const expected = ['broker leads in term 1', ...['p0', 'p1', 'p2'].map((partition) => `assigned ${partition} in term 1`)];

  /** What the program prints, and its exit code. */
  async function run(...args: readonly string[]): Promise<{ readonly output: readonly string[]; readonly status: unknown }> {
    await using script = await spawnScript(QUICKSTART, { args });
    const status = await script.exited;
    return { output: script.output.map((line) => line.replace(/broker-\d+/, 'broker')), status };
  }

  it('is on the page on fencing, to the letter', () => {
    const page = readFileSync(new URL('docs/guide/fencing.md', ROOT), 'utf8');
    const [, code] = /```ts\n([^]*?)```/.exec(page) ?? [];
    expect(code).toBe(readFileSync(QUICKSTART, 'utf8'));
  });

  it('runs on memory', async () => {
    expect(await run()).toEqual({ output: expected, status: 0 });
  });

  it('runs on sqlite', async () => {
    expect(await run(`sqlite:${folder.path}/state.db`)).toEqual({ output: expected, status: 0 });
  });

  it('runs on etcd', async () => {
    await using etcd = await startEtcd();
    expect(await run(storeUrl([etcd.url], freshNamespace()))).toEqual({ output: expected, status: 0 });
  });
});
