import {
  makeScratch,
  requireStore,
  type Scratch,
  type ScriptProcess,
  sharedPostgres,
  sharedRedis,
  spawnScript,
  until,
} from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fromClientGo, migrate, migrations } from './checks/migrate.ts';
import { at, freshNamespace, storeUrl } from './checks/pair.ts';

const WAIT_MS = 45_000;

let scratch: Scratch;
beforeEach(async () => {
  scratch = await makeScratch('migrating');
});
afterEach(async () => scratch.remove());

async function start(program: string, url: string): Promise<ScriptProcess> {
  return spawnScript(new URL(`../../examples/migrating/${program}.ts`, import.meta.url), { args: [url] });
}

async function untilSaid(script: ScriptProcess, words: RegExp): Promise<void> {
  await until(() => script.output.some((line) => words.test(line)), { what: String(words), withinMs: WAIT_MS });
}

/** Two processes run the program: the second one leads when the first one stops. */
async function takesOver(program: string, url: string, leads: RegExp): Promise<void> {
  await using first = await start(program, url);
  await untilSaid(first, leads);
  await using second = await start(program, url);
  first.sigterm();
  expect(await first.exited).toBe(0);
  await untilSaid(second, leads);
  second.sigterm();
  expect(await second.exited).toBe(0);
}

const sqlite = (): string => `sqlite:${scratch.path}/${freshNamespace()}.db`;

describe('the programs of docs/migrating hand over on SIGTERM, and exit with 0', () => {
  it.each([
    ['etcd3', /^elected in term \d+$/],
    ['curator', /^isLeader, in term \d+$/],
    ['client-go', /^started leading in term \d+$/],
  ])('%s', async (program, leads) => {
    await takesOver(program, sqlite(), leads);
  });

  it('etcd3, also while it waits', async () => {
    const url = sqlite();
    await using leader = await start('etcd3', url);
    await untilSaid(leader, /^elected in term 1$/);
    await using waiting = await start('etcd3', url);
    await untilSaid(waiting, /leads in term 1$/);
    waiting.sigterm();
    expect(await waiting.exited).toBe(0);
    leader.sigterm();
    expect(await leader.exited).toBe(0);
  });

  it('advisory-locks, on PostgreSQL', async () => {
    const { endpoints } = await sharedPostgres();
    await takesOver('advisory-locks', storeUrl(endpoints, freshNamespace(), 'postgres'), /^bills with term \d+$/);
  });

  it('redlock, on Redis', async () => {
    const { url } = await sharedRedis();
    await takesOver('redlock', `${url.replace(/\/$/, '')}/${freshNamespace()}`, /^report from \d+, in term \d+$/);
  });
});

describe('in a rolling deployment, an old and a new program never work at the same time', { timeout: 240_000 }, async () => {
  for (const [from, { store, open }] of Object.entries(migrations))
    it.runIf(await requireStore({ store, own: true }))(`from ${from}`, async () => {
      await using migration = await open();
      expect(await migrate(migration)).toMatchObject({ overlaps: 0 });
    });
});

describe('from client-go', { timeout: 240_000 }, async () => {
  it.runIf(await requireStore({ store: 'kubernetes', own: true }))(
    'a new process that was paused works no more when an old one has taken the Lease',
    async () => {
      await using migration = await fromClientGo();
      const worksOf = (script: ScriptProcess): readonly number[] => script.events.filter((event) => migration.isWork(event)).map(at);
      const untilWorks = async (script: ScriptProcess, count: number): Promise<void> => {
        await until(() => worksOf(script).length >= count, { what: `${count} works`, withinMs: 2 * WAIT_MS });
      };
      await using fresh = await migration.start('rolling');
      await untilWorks(fresh, 1);
      await using old = await migration.start('before');
      fresh.sigstop();
      await untilWorks(old, 1);
      fresh.sigcont();
      // Works for long enough that the paused process would work as well, if it still could.
      await untilWorks(old, worksOf(old).length + 1_000);
      const [takenAt = Infinity] = worksOf(old);
      // Its last check may have come just before the pause, and the work of that check after it.
      expect(worksOf(fresh).filter((time) => time > takenAt).length).toBeLessThanOrEqual(1);
    },
  );
});
