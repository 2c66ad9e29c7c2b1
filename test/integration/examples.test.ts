import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  freePort,
  isStopped,
  makeScratch,
  requireStore,
  run,
  type Scratch,
  type ScriptProcess,
  spawnScript,
  sharedPostgres,
  sharedRedis,
  until,
} from '@incumbent/test-support';
import type { Health } from 'incumbent/monitor';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { kubernetesHost } from './checks/kubernetes-host.ts';
import { freshNamespace, storeUrl } from './checks/pair.ts';

const WAIT_MS = 45_000;

const hasRedis = await requireStore({ store: 'redis' });
let scratch: Scratch;
let url: string;
beforeEach(async () => {
  scratch = await makeScratch('examples');
  url = `sqlite:${scratch.path}/${freshNamespace()}.db`;
});
afterEach(async () => scratch.remove());

async function start(example: string, ...args: readonly string[]): Promise<ScriptProcess> {
  return spawnScript(new URL(`../../examples/${example}/main.ts`, import.meta.url), { args: [url, ...args] });
}

async function untilSaid(script: ScriptProcess, words: RegExp, what: string): Promise<void> {
  await until(() => script.output.some((line) => words.test(line)), { what, withinMs: WAIT_MS });
}

it('singleton-job: each run is made once, whoever leads', async () => {
  await using first = await start('singleton-job', '100');
  await untilSaid(first, /in term 1$/, 'a run');
  await using second = await start('singleton-job', '100');
  first.sigterm();
  expect(await first.exited).toBe(0);
  await untilSaid(second, /in term 2$/, 'a run of the second process');
  second.sigterm();
  expect(await second.exited).toBe(0);
  const runs = [...first.output, ...second.output].map((line) => /^run (\d+),/.exec(line)?.[1]);
  expect(runs).not.toContain(undefined);
  expect(new Set(runs).size).toBe(runs.length);
});

it('cron-jobs: each slot runs once, and those that a failover has missed run late', async () => {
  await using first = await start('cron-jobs');
  await untilSaid(first, /^meter .* in term 1$/, 'a run');
  await using second = await start('cron-jobs');
  await untilSaid(first, /^report .* in term 1$/, 'a report');
  first.sigkill();
  await untilSaid(second, /^meter .* in term 2$/, 'a run of the second process in time');
  second.sigterm();
  expect(await second.exited).toBe(0);
  const lines = [...first.output, ...second.output];
  const slots = lines.flatMap((line) => /^meter (\d\S+)/.exec(line)?.[1] ?? []).map((slot) => Date.parse(slot) / 1_000);
  const interrupted = lines.filter((line) => line === 'meter: interrupted').length;
  expect(new Set(slots).size).toBe(slots.length);
  expect(lines).not.toContain('meter: missed');
  // The kill may hit between a claim and its line.
  expect(slots.at(-1)! - slots[0]! + 1 - slots.length).toBeLessThanOrEqual(interrupted);
});

it('follow-the-leader: any of them answers, by sending the client to the one that leads', async () => {
  await using first = await start('follow-the-leader');
  await using second = await start('follow-the-leader');
  const urls = await Promise.all([first, second].map((script) => until(() => script.output[0], { what: 'a URL', withinMs: WAIT_MS })));
  const answers = async (at: string): Promise<string | false> => {
    const response = await fetch(at);
    return response.ok && response.text();
  };
  await until(() => answers(urls[0]!), { what: 'an answer', withinMs: WAIT_MS });
  expect(await answers(urls[0]!)).toMatch(/^2 in term 1\n$/);
  expect(await answers(urls[1]!)).toMatch(/^3 in term 1\n$/);
  const [leader, follower] = (await fetch(urls[0]!, { redirect: 'manual' })).status === 200 ? [first, second] : [second, first];
  const rest = follower.output[0]!;
  const sent = await fetch(`${rest}//elsewhere.example/path?a=1`, { redirect: 'manual' });
  expect([sent.status, sent.headers.get('location')]).toEqual([307, `${leader.output[0]!}/path?a=1`]);
  expect((await fetch(`${rest}//`, { redirect: 'manual' })).status).toBe(307);
  leader.sigterm();
  expect(await leader.exited).toBe(0);
  expect(await until(() => answers(rest), { what: 'an answer of the next leader', withinMs: WAIT_MS })).toBe('1 in term 2\n');
  follower.sigterm();
  expect(await follower.exited).toBe(0);
});

it('many-elections: shards spread over the members, and move to one that joins', async () => {
  await using first = await start('many-elections', '16');
  await untilSaid(first, /leads 16 of 16$/, 'all shards');
  await using second = await start('many-elections', '16');
  const led = ({ output }: ScriptProcess): number => Number(/leads (\d+) of/.exec(output.at(-1) ?? '')?.[1]);
  const isSpread = (): boolean => led(first) + led(second) === 16 && led(second) >= 3;
  await until(isSpread, { what: 'shards on both', withinMs: WAIT_MS });
  first.sigterm();
  expect(await first.exited).toBe(0);
  await untilSaid(second, /leads 16 of 16$/, 'all shards on the other');
  second.sigterm();
  expect(await second.exited).toBe(0);
});

it('graceful-deploy: a rolling restart, and never two at work', async () => {
  await using script = await start('graceful-deploy');
  expect(await script.exited).toBe(0);
  expect(script.output).toEqual([expect.stringMatching(/^\d+ orders in \d terms; longest pause \d+ ms$/), 'never two at work']);
});

it.for(['sqlite', 'kubernetes'] as const)(
  'kubernetes on %s: ready when the store is open, healthy everywhere, and the next pod leads when one stops',
  { timeout: 120_000 },
  async (store, { skip }) => {
    await using server = new AsyncDisposableStack();
    if (store === 'kubernetes') {
      skip(!(await requireStore({ store, own: true })));
      const { url: at } = server.use(await kubernetesHost.start());
      url = storeUrl([at], freshNamespace(), store);
    }
    const startPod = async (name: string): Promise<readonly [pod: ScriptProcess, at: string]> => {
      const port = await freePort();
      const program = new URL('../../examples/kubernetes/main.ts', import.meta.url);
      const pod = await spawnScript(program, { args: [url, String(port)], env: { HOSTNAME: name } });
      return [pod, `http://127.0.0.1:${port}`];
    };
    const statusOf = async (at: string): Promise<number> => (await fetch(at)).status;
    const [first, at] = await startPod('pod-1');
    await using _first = first;
    await untilSaid(first, /^sends mails in term 1$/, 'the first leader');
    const [second, other] = await startPod('pod-2');
    await using _second = second;
    const isReady = async (): Promise<boolean> => (await statusOf(`${other}/readyz`).catch(() => 0)) === 200;
    await until(isReady, { what: 'the other pod is ready', withinMs: WAIT_MS });
    expect(await Promise.all([`${at}/healthz`, `${other}/healthz`].map(statusOf))).toEqual([200, 200]);
    first.sigterm();
    expect(await first.exited).toBe(0);
    await untilSaid(second, /^sends mails in term 2$/, 'the next leader');
    second.sigterm();
    expect(await second.exited).toBe(0);
  },
);

it.for(['sqlite', 'redis'] as const)(
  'fastify-service on %s: healthy everywhere, one leads, and the next does when that one ends',
  async (store, { skip }) => {
    await useStore(store, skip);
    await using first = await start('fastify-service');
    await using second = await start('fastify-service');
    const urls = await Promise.all([first, second].map((script) => until(() => urlIn(script), { what: 'a URL', withinMs: WAIT_MS })));
    const health = async (at: string): Promise<Health> => {
      const response = await fetch(new URL('/healthz', at));
      expect(response.status).toBe(200);
      return JSON.parse(await response.text());
    };
    const termAt = async (at: string): Promise<string | undefined> => (await health(at)).leads[0]?.term;
    const terms = async (): Promise<readonly (string | undefined)[]> => Promise.all(urls.map(termAt));
    await until(async () => (await terms()).some((term) => term !== undefined), { what: 'a leader', withinMs: WAIT_MS });
    const [one, two] = await terms();
    expect([one, two]).toContain(undefined);
    const [leader, other, rest] = one === undefined ? [second, first, urls[0]!] : [first, second, urls[1]!];
    // npm and terminals may send one stop twice.
    leader.sigterm();
    await sleep(5);
    leader.sigterm();
    expect(await leader.exited).toBe(0);
    const next = await until(() => termAt(rest), { what: 'the next leader', withinMs: WAIT_MS });
    expect(BigInt(next)).toBeGreaterThan(BigInt(one ?? two ?? 0));
    const metrics = await fetch(new URL('/metrics', rest));
    expect(metrics.headers.get('content-type')).toContain('version=0.0.4');
    expect(await metrics.text()).toMatch(/^incumbent_leader\{store="\w+",namespace="[\w-]+",election="mailer",member="\w+"\} 1$/m);
    expect(other.output.some((line) => line.includes('sends mails'))).toBe(true);
    // The program's logger is also the member's: pino.
    const logged = other.output.map((line): unknown => JSON.parse(line));
    expect(logged).toContainEqual(expect.objectContaining({ level: 30, msg: 'elected', election: 'mailer', term: next, store }));
    other.sigterm();
    expect(await other.exited).toBe(0);
  },
);

function urlIn({ output }: ScriptProcess): string | undefined {
  return output.map((line) => /Server listening at (http:[^"]+)/.exec(line)?.[1]).find((found) => found !== undefined);
}

const nestjs = new URL('../../examples/nestjs-jobs/', import.meta.url);
let compiled: Promise<unknown> | undefined;

/** Its decorators have to be compiled, unlike the TypeScript of the other examples. */
async function compile(): Promise<void> {
  const tsc = join(import.meta.dirname, '../../node_modules/.bin/tsc');
  await promisify(execFile)(tsc, ['--project', fileURLToPath(nestjs)]);
}

it.for(['sqlite', 'redis'] as const)(
  'nestjs-jobs on %s: one process runs the jobs, and another one after it has ended',
  async (store, { skip }) => {
    await useStore(store, skip);
    await (compiled ??= compile());
    const open = (): Promise<ScriptProcess> => spawnScript(new URL('dist/main.js', nestjs), { env: { STORE_URL: url, PORT: '0' } });
    await using first = await open();
    await untilSaid(first, /^meter .* in term \d+$/, 'a run');
    await untilSaid(first, /^sends mails in term \d+$/, 'mails');
    await using second = await open();
    await untilSaid(second, /^listens at /, 'a URL');
    const [leader = '', follower = ''] = [first, second].map(({ output }) =>
      output.find((line) => line.startsWith('listens at '))?.slice(11),
    );
    const statusOf = async (at: string, path: string): Promise<number> => (await fetch(`${at}/${path}`)).status;
    expect(await Promise.all([statusOf(leader, 'healthz'), statusOf(follower, 'healthz')])).toEqual([200, 200]);
    expect(await Promise.all([statusOf(leader, 'mails'), statusOf(follower, 'mails')])).toEqual([200, 503]);
    first.sigterm();
    // 128 + SIGTERM: NestJS sends the signal to its own process again when the application has
    // closed.
    expect(await first.exited).toBe(143);
    await untilSaid(second, /^meter /, 'a run of the second process');
    await untilSaid(second, /^sends mails in term /, 'mails of the second process');
    second.sigterm();
    expect(await second.exited).toBe(143);
    const slots = [...first.output, ...second.output].flatMap((line) => /^meter (\d\S+)/.exec(line)?.[1] ?? []);
    expect(new Set(slots).size).toBe(slots.length);
    const terms = [first, second].map(({ output }) => BigInt(output.map((line) => /^sends .* (\d+)$/.exec(line)?.[1]).find(Boolean) ?? 0));
    expect(terms[1]).toBeGreaterThan(terms[0]!);
  },
);

/** Uses a fresh namespace of a server in place of the SQLite file. */
async function useStore(store: 'sqlite' | 'redis', skip: (note: string) => void): Promise<void> {
  if (store === 'sqlite') return;
  if (!hasRedis) return skip('no Redis');
  const server = await sharedRedis();
  url = storeUrl([server.url], freshNamespace(), 'redis');
}

it.runIf(await requireStore({ store: 'postgres' }))(
  'fenced-writer: the table takes nothing from a leader that stood still while another was elected',
  async () => {
    const postgres = await sharedPostgres();
    const database = new Client({ connectionString: postgres.url });
    await database.connect();
    try {
      await database.query('DROP TABLE IF EXISTS fence, price');
      await using first = await start('fenced-writer', postgres.url);
      await untilSaid(first, /^wrote .* in term 1$/, 'a write in the first term');
      await using second = await start('fenced-writer', postgres.url);
      await stopWhileItCalculates(first);
      await untilSaid(second, /^wrote .* in term 2$/, 'a write in the second term');
      first.sigcont();
      await untilSaid(first, /^refused: the table has seen term 2, and this is term 1$/, 'a refused write');
      for (const script of [first, second]) {
        script.sigterm();
        expect(await script.exited).toBe(0);
      }
      const { rows } = await database.query<{ readonly term: string }>('SELECT term FROM price ORDER BY id');
      const terms = rows.map(({ term }) => Number(term));
      expect(terms).toEqual(terms.toSorted((a, b) => a - b));
      expect(terms).toContain(2);
    } finally {
      await database.end();
    }
  },
);

it.runIf(await requireStore({ store: 'postgres' }))(
  'fenced-writer: with the store in the same database, the server refuses the transaction of a former leader',
  async () => {
    const postgres = await sharedPostgres();
    const program = new URL('../../examples/fenced-writer/main.ts', import.meta.url);
    const startOne = (): Promise<ScriptProcess> => spawnScript(program, { args: ['same', postgres.url] });
    const wrote = /^wrote .* in term \d+$/;
    await using first = await startOne();
    await untilSaid(first, wrote, 'a write of the first leader');
    await using second = await startOne();
    await stopWhileItCalculates(first);
    await untilSaid(second, wrote, 'a write of the second leader');
    first.sigcont();
    await untilSaid(first, /^refused: term \d+ is not the last one$/, 'a refused write');
    for (const script of [first, second]) {
      script.sigterm();
      expect(await script.exited).toBe(0);
    }
  },
);

it.runIf(await requireStore({ store: 'postgres' }))(
  'fenced-writer: a leader that stood still in the middle of a guarded transaction writes again in a newer term',
  async () => {
    const postgres = await sharedPostgres();
    const database = new Client({ connectionString: postgres.url });
    await database.connect();
    try {
      const program = new URL('../../examples/fenced-writer/main.ts', import.meta.url);
      await using script = await spawnScript(program, { args: ['same', postgres.url] });
      await untilSaid(script, /^wrote .* in term \d+$/, 'a write');
      await database.query('BEGIN; LOCK TABLE price');
      const locks = async (which: string): Promise<number> =>
        (await database.query(`SELECT FROM pg_locks WHERE relation = 'price'::regclass AND ${which}`)).rows.length;
      await until(async () => (await locks('NOT granted')) > 0, { what: 'a write that waits', withinMs: WAIT_MS });
      script.sigstop();
      await until(() => isStopped(script.pid), { what: 'it to stand still', withinMs: WAIT_MS });
      await database.query('COMMIT'); // the transaction of the leader is idle now: the server ends it after the ttl
      await until(async () => (await locks('true')) === 0, { what: 'the end of the transaction', withinMs: WAIT_MS });
      const before = script.output.length;
      script.sigcont();
      const wrote = (): boolean => script.output.slice(before).some((line) => line.startsWith('wrote'));
      await until(() => wrote() || !script.running, { what: 'a write in a newer term', withinMs: WAIT_MS });
      script.sigterm();
      expect(await script.exited).toBe(0);
    } finally {
      await database.end();
    }
  },
);

/**
 * The calculation has just begun. When the process continues, it writes without reading a clock
 * before.
 */
async function stopWhileItCalculates(script: ScriptProcess): Promise<void> {
  const said = 'calculates a price';
  for (;;) {
    const before = script.output.length;
    await until(() => script.output.lastIndexOf(said) >= before, { what: 'another calculation', withinMs: WAIT_MS, everyMs: 2 });
    const [begun, lines] = [performance.now(), script.output.length];
    script.sigstop();
    await until(() => isStopped(script.pid), { what: 'it to stand still', withinMs: WAIT_MS, everyMs: 2 });
    if (performance.now() - begun < 250 && script.output.length === lines && script.output.at(-1) === said) return;
    script.sigcont();
  }
}

it('peer-cluster: whatever is done to a member, the others elect one, in a newer term', async () => {
  const commands = ['kill leader', 'pause leader', 'resume', 'cut leader', 'status', 'resume', 'leader?', 'kill z', 'status', 'quit'];
  await using script = await spawnScript(new URL('../../examples/peer-cluster/main.ts', import.meta.url), { args: commands });
  expect(await script.exited).toBe(0);
  const said = script.output.join('\n');
  const terms = [...said.matchAll(/\((\w) leads, in term (\d+)\)/g)].map(([, id = '', term]) => ({ id, term: Number(term) }));
  expect(terms.length).toBeGreaterThanOrEqual(4);
  expect(terms.map(({ term }) => term)).toEqual(terms.map(({ term }) => term).toSorted((a, b) => a - b));
  expect(new Set(terms.map(({ term }) => term)).size).toBe(terms.length);
  for (const what of ['is killed', 'is paused', 'is cut off', 'is up', 'there is no member "z"']) expect(said).toContain(what);
  const [cutOff = '', whole = ''] = script.output.filter((line) => line.startsWith('a '));
  expect(cutOff).toContain('cut off');
  expect(whole).toMatch(/^(?:\w (?:LEADS|→ \w) \d+ *){5}$/);
});

it.each(['bully', 'nextInLine', 'candidateOrdinary', 'invitation', 'ring'])(
  'peer-cluster by %s: a dead leader is followed, one that is cut off leads on beside another, and in the end one leads',
  async (algorithm) => {
    const commands = ['--algorithm', algorithm, 'kill leader', 'resume', 'cut leader', 'status', 'resume', 'status', 'quit'];
    await using script = await spawnScript(new URL('../../examples/peer-cluster/main.ts', import.meta.url), { args: commands });
    expect(await script.exited).toBe(0);
    for (const what of ['is killed', 'is cut off', 'is up', 'leads, in round']) expect(script.output.join('\n')).toContain(what);
    const [parted = '', whole = ''] = script.output.filter((line) => line.startsWith('a '));
    expect(parted).toMatch(/\w cut off, LEADS \d/);
    expect(parted.replace('cut off, LEADS', '')).toMatch(/\w LEADS \d/);
    expect(whole).toMatch(/^(?:\w (?:LEADS|→ \w) \d+ *){5}$/);
    expect(whole.match(/LEADS/g)).toHaveLength(1);
  },
);

it('peer-cluster by an election that there is not says which there are', async () => {
  await using script = await spawnScript(new URL('../../examples/peer-cluster/main.ts', import.meta.url), {
    args: ['--algorithm', 'raft'],
  });
  expect(await script.exited).toBe(2);
});

it.runIf(await requireStore({ store: 'postgres' })).for(['pg', 'kysely', 'drizzle', 'knex'])(
  'sql-fence: with %s, the server takes a transaction of the term, and refuses one after its end',
  async (library) => {
    const postgres = await sharedPostgres();
    await using script = await spawnScript(new URL(`../../examples/sql-fence/${library}.ts`, import.meta.url), { args: [postgres.url] });
    expect([await script.exited, ...script.output]).toEqual([0, 'written', 'refused']);
  },
);

it.runIf(await requireStore({ store: 'postgres' }))(
  'sql-fence: with Prisma, the client is generated and compiles, the server takes a transaction of the term, and refuses one after its end',
  async () => {
    const folder = fileURLToPath(new URL('../../examples/sql-fence/prisma', import.meta.url));
    const program = (name: string): string => join(folder, '..', 'node_modules', '.bin', name);
    // Only `prisma migrate` runs the engine. Without the variable, `generate` downloads it as well.
    const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };
    await run(program('prisma'), ['generate', '--schema', join(folder, 'schema.prisma')], { timeoutMs: 60_000, env });
    await run(join(folder, '..', '..', '..', 'node_modules', '.bin', 'tsc'), ['-p', folder], { timeoutMs: 60_000 });
    const postgres = await sharedPostgres();
    await using script = await spawnScript(join(folder, 'main.ts'), { args: [postgres.url] });
    expect([await script.exited, ...script.output]).toEqual([0, 'written', 'refused']);
  },
);
