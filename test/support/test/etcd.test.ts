import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { requireStore, startEtcd, startProxy, until, type Etcd, type EtcdServer } from '../src/index.ts';

const SHORT = ['--dial-timeout=500ms', '--command-timeout=500ms'];

/** What etcdctl prints if no server answers, or if it cannot talk to the server. */
const NO_ANSWER = /deadline exceeded|unavailable|is not running|is paused|no such file/i;

async function get(etcd: Etcd, key: string, ...flags: readonly string[]): Promise<string> {
  return (await etcd.ctl([...flags, 'get', '--print-value-only', key])).trim();
}

/** An etcd that has the value `value` under the key `key`. */
async function etcdWithKey(): Promise<EtcdServer> {
  const etcd = await startEtcd();
  await etcd.ctl(['put', 'key', 'value']);
  return etcd;
}

describe.runIf(await requireStore({ store: 'etcd', own: true }))('an etcd of one’s own', () => {
  test('is up soon, and serves', async () => {
    await using etcd = await startEtcd();
    expect(etcd.version).toMatch(/^3\.\d+\.\d+$/);
    expect(etcd.endpoints).toEqual([etcd.url]);
    await etcd.ctl(['put', 'key', 'value']);
    await expect(get(etcd, 'key')).resolves.toBe('value');
  });

  test('killed, it is gone at once; started again, it has its address and its data', async () => {
    await using etcd = await etcdWithKey();
    const { url } = etcd;
    await etcd.kill();
    await expect(get(etcd, 'key', ...SHORT)).rejects.toThrow(NO_ANSWER);
    await etcd.kill();
    await etcd.restart();
    expect(etcd.url).toBe(url);
    await expect(get(etcd, 'key')).resolves.toBe('value');
  });

  test('a gentle signal ends it, too', async () => {
    await using etcd = await startEtcd();
    await etcd.kill('SIGTERM');
    await expect(get(etcd, 'key', ...SHORT)).rejects.toThrow(NO_ANSWER);
    await etcd.restart();
    await expect(get(etcd, 'key')).resolves.toBe('');
  });

  test('paused, it does not answer; resumed, it does', async () => {
    await using etcd = await etcdWithKey();
    await etcd.pause();
    await expect(get(etcd, 'key', ...SHORT)).rejects.toThrow(NO_ANSWER);
    await etcd.resume();
    await expect(get(etcd, 'key')).resolves.toBe('value');
  });

  test('restarted while it runs or is paused, it serves again', async () => {
    await using etcd = await etcdWithKey();
    await etcd.restart();
    await etcd.pause();
    await etcd.restart();
    await expect(get(etcd, 'key')).resolves.toBe('value');
  });

  test('stopped, it is gone for good; stopping again does nothing', async () => {
    const etcd = await startEtcd();
    await etcd.stop();
    await etcd.stop();
    await expect(get(etcd, 'key', ...SHORT)).rejects.toThrow(NO_ANSWER);
  });

  test('several have nothing in common', async () => {
    await using one = await startEtcd();
    await using other = await startEtcd();
    await one.ctl(['put', 'key', 'one']);
    await expect(get(other, 'key')).resolves.toBe('');
  });

  test('takes flags, and where it does not start its log says why', async () => {
    await using etcd = await startEtcd({ flags: ['--max-txn-ops=2', '--heartbeat-interval=20', '--election-timeout=200'] });
    await etcd.ctl(['put', 'key', 'value']);
    const failure = startEtcd({ flags: ['--no-such-flag'] });
    await expect(failure).rejects.toThrow(/does not serve; its log ends with:[^]*no-such-flag/);
  });

  test('with users, it refuses who is not one, also after a restart', async () => {
    await using etcd = await startEtcd({ auth: { user: 'alice', password: 'secret' } });
    for (const start of ['first', 'second']) {
      await etcd.ctl(['--user=alice:secret', 'put', 'key', start]);
      await expect(get(etcd, 'key')).resolves.toBe(start);
      await expect(get(etcd, 'key', '--user=alice:wrong')).rejects.toThrow(/authentication failed/);
      await expect(get(etcd, 'key', '--user=')).rejects.toThrow(/user name is empty/);
      await etcd.restart();
    }
  });

  test('with its own authority, it serves who trusts that, and nobody in plain text', async () => {
    await using etcd = await startEtcd({ tls: 'server' });
    await etcd.ctl(['put', 'key', 'value']);
    await expect(get(etcd, 'key', '--cert=', '--key=')).resolves.toBe('value');
    await expect(get(etcd, 'key', '--cacert=', ...SHORT)).rejects.toThrow(/unknown authority|deadline/);
    await expect(get(etcd, 'key', `--endpoints=${etcd.url.replace('https', 'http')}`, ...SHORT)).rejects.toThrow(NO_ANSWER);
  });

  test('with client certificates, it serves only who has one', async () => {
    await using etcd = await startEtcd({ tls: 'mutual' });
    await etcd.ctl(['put', 'key', 'value']);
    await expect(get(etcd, 'key')).resolves.toBe('value');
    await expect(get(etcd, 'key', '--cert=', '--key=', ...SHORT)).rejects.toThrow(NO_ANSWER);
  });
});

describe.runIf(await requireStore({ store: 'etcd', version: 'newer', own: true }))('a newer etcd', () => {
  test('is newer, and serves', async () => {
    await using etcd = await startEtcd({ version: 'newer', tls: 'mutual', auth: { user: 'alice', password: 'secret' } });
    expect(Number(etcd.version.split('.')[1])).toBeGreaterThanOrEqual(5);
    await etcd.ctl(['--user=alice:secret', 'put', 'key', 'value']);
    await etcd.kill();
    await etcd.restart();
    await expect(get(etcd, 'key')).resolves.toBe('value');
  });
});

describe.runIf(await requireStore({ store: 'etcd', own: true }))('an etcd behind a proxy', () => {
  test('has applied a write whose answer was swallowed', async () => {
    await using etcd = await startEtcd();
    await using proxy = await startProxy(etcd.url);
    proxy.dropReplies();
    await expect(etcd.ctl([`--endpoints=${proxy.url}`, ...SHORT, 'put', 'key', 'value'])).rejects.toThrow(NO_ANSWER);
    // A connection of HTTP/2 begins with a talk of both sides: with all replies gone, the write was
    // never sent.
    await expect(get(etcd, 'key')).resolves.toBe('');
    await proxy.heal();
    // The talk takes less than a hundred bytes of the client; the write's head alone takes more.
    const sprung = proxy.dropNextReply({ afterRequestBytes: 200 });
    const value = 'v'.repeat(1_000);
    await expect(etcd.ctl([`--endpoints=${proxy.url}`, ...SHORT, 'put', 'key', value])).rejects.toThrow(NO_ANSWER);
    await expect(sprung).resolves.toBe(true);
    await expect(get(etcd, 'key')).resolves.toBe(value);
  });

  test('is out of reach while the proxy is a black hole or stalls, and within it when healed', async () => {
    await using etcd = await startEtcd();
    await using proxy = await startProxy(etcd.url);
    const through = `--endpoints=${proxy.url}`;
    await etcd.ctl([through, 'put', 'key', 'value']);
    proxy.blackhole();
    await expect(get(etcd, 'key', through, ...SHORT)).rejects.toThrow(NO_ANSWER);
    await proxy.heal();
    await expect(get(etcd, 'key', through)).resolves.toBe('value');
    proxy.stall();
    const late = get(etcd, 'key', through, '--command-timeout=20s', '--dial-timeout=20s');
    await sleep(300);
    await proxy.heal();
    await expect(late).resolves.toBe('value');
  });

  test('dies and comes back without the proxy’s noticing', async () => {
    await using etcd = await startEtcd();
    await using proxy = await startProxy(etcd.url);
    await etcd.restart();
    const answer = until(() => get(etcd, 'key', `--endpoints=${proxy.url}`, ...SHORT), { what: 'an answer', withinMs: 10_000 });
    await expect(answer).resolves.toBe('');
  });
});
