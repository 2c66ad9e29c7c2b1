import { describe, expect, test, vi } from 'vitest';

import {
  makeScratch,
  requirePgBouncer,
  requireStore,
  sharedPostgres,
  startPgBouncer,
  startPostgres,
  uniqueNamespace,
  until,
} from '../src/index.ts';
import { run } from '../src/run.ts';
import { newerPostgresPrograms, postgresPrograms } from '../src/servers/postgres/programs.ts';
import { canBeHad } from '../src/servers/require.ts';
import { firstOf } from '../src/servers/source.ts';
import { templateOf } from '../src/servers/postgres/template.ts';
import { gone } from './gone.ts';

const ownServers = await requireStore({ store: 'postgres', own: true });
const packaged = postgresPrograms.slice(-1);

const SYSTEM = 'select system_identifier from pg_control_system()';

describe.runIf(ownServers)('a PostgreSQL of one’s own', () => {
  test('serves, keeps what it has acknowledged, and psql reports what it cannot do', async () => {
    await using postgres = await startPostgres();
    expect(postgres.version).toMatch(/^\d+(\.\d+)+$/);
    await expect(postgres.ctl(['-c', 'show fsync', '-c', 'show synchronous_commit'])).resolves.toBe('on\non\n');
    await postgres.ctl(['-c', 'create table witness (value text)', '-c', `insert into witness values ('kept')`]);
    await postgres.restart();
    await expect(postgres.ctl(['-c', 'select value from witness'])).resolves.toBe('kept\n');
    await expect(postgres.ctl(['-c', 'select 1 / 0'])).rejects.toThrow(/division by zero/);
  });

  test('stands still while paused, connected clients included, and goes on', async () => {
    await using postgres = await startPostgres();
    await postgres.ctl(['-c', 'create table tick (at timestamptz)']);
    const ticking = postgres.ctl(['-c', TICK]);
    const ticks = async (): Promise<number> => Number(await postgres.ctl(['-c', 'select count(*) from tick']));
    await until(async () => (await ticks()) > 0, { what: 'a tick' });
    await postgres.pause();
    const pausedAt = Date.now();
    await expect(postgres.ctl(['-c', 'select 1'])).rejects.toThrow(/timeout|not running|paused/i);
    const resumedAt = Date.now();
    await postgres.resume();
    await ticking;
    const meanwhile = `select count(*) from tick
      where at > to_timestamp(${(pausedAt + 1) / 1_000}) and at < to_timestamp(${resumedAt / 1_000})`;
    await expect(postgres.ctl(['-c', meanwhile])).resolves.toBe('0\n');
  });

  test('has the settings and the user that it is given', async () => {
    const auth = { user: 'alice', password: 'a:secret/' };
    await using postgres = await startPostgres({ auth, settings: { fsync: 'off', max_connections: '17' } });
    await expect(postgres.ctl(['-c', 'select current_user', '-c', 'show fsync', '-c', 'show max_connections'])).resolves.toBe(
      'alice\noff\n17\n',
    );
    const wrong = Object.assign(new URL(postgres.url), { password: 'wrong' }).href;
    await expect(postgres.ctl(['-d', wrong, '-c', 'select 1'])).rejects.toThrow(/password authentication failed/);
  });

  test('with TLS accepts nothing else, and demands a certificate where it is to', async () => {
    await using postgres = await startPostgres({ tls: 'mutual' });
    await expect(postgres.ctl(['-c', 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'])).resolves.toBe('t\n');
    const plain = `${postgres.url}?sslmode=disable`;
    await expect(postgres.ctl(['-d', plain, '-c', 'select 1'])).rejects.toThrow(/no encryption/);
    const nameless = `${postgres.url}?sslmode=require&sslcert=/nowhere&sslkey=/nowhere`;
    await expect(postgres.ctl(['-d', nameless, '-c', 'select 1'])).rejects.toThrow(/certificate/);
  });

  test('shares its system identifier with others, unless it has its own', async () => {
    await using one = await startPostgres();
    await using other = await startPostgres();
    await using own = await startPostgres({ ownIdentity: true });
    const [first, second, third] = await Promise.all([one, other, own].map((postgres) => postgres.ctl(['-c', SYSTEM])));
    expect(third).not.toBe(first);
    // Each container makes its own.
    expect(second === first || second !== third).toBe(true);
  });

  test('is gone with its processes when it is stopped, even while it is paused', async () => {
    const postgres = await startPostgres();
    const asleep = postgres.ctl(['-c', 'select pg_sleep(60)']).then(
      () => 'answered',
      () => 'cut',
    );
    await until(async () => (await postgres.ctl(['-c', SLEEPING])) === '1\n', { what: 'a client' });
    await postgres.pause();
    await postgres.stop();
    await postgres.stop();
    await expect(gone(postgres.url.replace(/.*@/, 'http://'))).resolves.toBe(true);
    await expect(asleep).resolves.toBe('cut');
  });
});

const SLEEPING = `select count(*) from pg_stat_activity where query like '%pg_sleep%' and wait_event = 'PgSleep'`;
/** For 4 s, longer than psql tries to connect to a server that is paused. */
const TICK = `do $$ begin for i in 1..400 loop
  perform pg_sleep(0.01); insert into tick values (clock_timestamp()); commit; end loop; end $$`;

describe.runIf(await requireStore({ store: 'postgres' }))('the shared PostgreSQL', () => {
  test('is one for everyone who asks', async () => {
    const [one, other] = await Promise.all([sharedPostgres(), sharedPostgres()]);
    expect(one.url).toBe(other.url);
    const table = uniqueNamespace().replace('-', '_');
    await one.ctl(['-c', `create table ${table} ()`]);
    await expect(other.ctl(['-c', `drop table ${table}`])).resolves.toBe('');
  });
});

describe.runIf(await requireStore({ store: 'postgres', version: 'newer', own: true }))('a newer PostgreSQL', () => {
  test('is of version 17 at least, and serves', async () => {
    await using postgres = await startPostgres({ version: 'newer' });
    expect(Number(postgres.version.split('.')[0])).toBeGreaterThanOrEqual(17);
    await expect(postgres.ctl(['-c', 'select 1 + 1'])).resolves.toBe('2\n');
  });
});

describe.runIf(ownServers && (await requirePgBouncer()))('a PgBouncer in front of a server', () => {
  test('gives a connection to one transaction, and another transaction may get it', async () => {
    await using postgres = await startPostgres();
    await using pooler = await startPgBouncer(postgres, { poolSize: 1 });
    expect(pooler.version).toMatch(/^\d+\.\d+/);
    const backend = async (): Promise<string> => pooler.ctl(['-c', 'select pg_backend_pid()']);
    expect(await backend()).toBe(await backend());
    await expect(pooler.ctl(['-d', pooler.url.replace('/postgres', '/pgbouncer'), '-c', 'show pools'])).resolves.toContain('transaction');
    await pooler.restart();
    await expect(pooler.ctl(['-c', 'select 1'])).resolves.toBe('1\n');
  });

  test('lets nobody in who is not named', async () => {
    await using postgres = await startPostgres();
    await postgres.ctl(['-c', 'create role alice login', '-c', 'create role bob login']);
    await using pooler = await startPgBouncer(postgres, { users: ['alice'] });
    const as = (user: string): Promise<string> => pooler.ctl(['-d', pooler.url.replace('test@', `${user}@`), '-c', 'select current_user']);
    await expect(as('alice')).resolves.toBe('alice\n');
    await expect(as('bob')).rejects.toThrow(/bob|authentication|user/);
  });
});

describe('where PostgreSQL is not available', () => {
  test('the error names the packages that were tried', async () => {
    const scratch = await makeScratch('postgres-none');
    vi.stubEnv('INCUMBENT_CACHE', scratch.path);
    vi.stubEnv('PATH', '/nowhere');
    try {
      const packages = [...packaged, ...newerPostgresPrograms];
      const majors = packages.map(({ what }) => /PostgreSQL \d+ of Debian's packages of \w+/.exec(what)?.[0]);
      expect(majors).toEqual(["PostgreSQL 15 of Debian's packages of bookworm", "PostgreSQL 17 of Debian's packages of trixie"]);
      for (const { find } of packages) await expect(find()).rejects.toThrow(/apt-get/);
    } finally {
      vi.unstubAllEnvs();
      await scratch.remove();
    }
  });
});

test.runIf(await canBeHad(() => firstOf('packages of PostgreSQL', packaged)))(
  'the programs of the packages run without anything installed',
  async () => {
    const folder = await firstOf('packages of PostgreSQL', packaged);
    await expect(run(`${folder}/postgres`, ['--version'])).resolves.toContain('PostgreSQL) 15.');
    await expect(run(`${folder}/sh`, ['-c', 'psql --version && pg_basebackup --version'])).resolves.toContain('15.');
    await expect(templateOf(folder)).resolves.toMatch(/postgres-PostgreSQL-15/);
  },
);
