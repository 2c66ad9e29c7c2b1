import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, type ConnectionOptions } from 'node:tls';
import { text } from 'node:stream/consumers';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { fourLetterWord, requireStore, run, startProxy, startZookeeper, type ZookeeperServer } from '../src/index.ts';
import { unpackedPackages } from '../src/servers/packages.ts';
import { FOUR_LETTER_WORDS } from '../src/servers/zookeeper/four-letter-word.ts';
import { JAR_PACKAGES } from '../src/servers/zookeeper/jars.ts';
import { ZookeeperSession } from './zookeeper-client.ts';

/** What is said of a server that is gone, or does not answer. */
const NO_ANSWER = /ECONNREFUSED|ECONNRESET|does not answer/;

const NO_AUTH = -102;

/**
 * Where the system keeps jars. In a mount namespace of its own a process can be shown others there.
 */
const INSTALLED = '/usr/share/java';
const canMount = process.getuid?.() === 0 && existsSync(INSTALLED);

/**
 * A server of Java's costs more than one of Go's: these tests share one, and leave it as it was.
 */
describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('a ZooKeeper of one’s own', () => {
  let zookeeper: ZookeeperServer;

  beforeAll(async () => {
    zookeeper = await startZookeeper({ superPassword: 'secret' });
  });

  afterAll(() => zookeeper.stop());

  test('serves, and answers the administrator’s words', async () => {
    expect(zookeeper.version).toMatch(/^3\.\d+\.\d+$/);
    expect(zookeeper.endpoints).toEqual([zookeeper.url]);
    await expect(fourLetterWord(zookeeper, 'ruok')).resolves.toBe('imok');
    await expect(fourLetterWord(zookeeper, 'srvr')).resolves.toContain('Mode: standalone');
    for (const word of FOUR_LETTER_WORDS) expect(await fourLetterWord(zookeeper, word)).not.toMatch(/not in the whitelist/);
  });

  test('zkCli says what is there, and nothing else; what it cannot do is an error', async () => {
    await zookeeper.ctl(['create', '/probe', 'value']);
    await expect(zookeeper.ctl(['get', '/probe'])).resolves.toBe('value\n');
    await expect(zookeeper.ctl(['get', '/nothing'])).rejects.toThrow(/Node does not exist: \/nothing/);
  });

  test.for([
    [100, 1_000],
    [1_000, 1_000],
    [4_000, 4_000],
    [60_000, 10_000],
  ] as const)('asked for a session of %i ms, it grants one of %i ms', async ([asked, granted]) => {
    using session = await ZookeeperSession.open(zookeeper.url, asked);
    expect(session.timeoutMs).toBe(granted);
    await expect(session.ping()).resolves.toBe(0);
  });

  test('lets the super user read what nobody else may', async () => {
    await zookeeper.ctl(['create', '/private', 'value', 'digest:nobody:none:cdrwa']);
    using session = await ZookeeperSession.open(zookeeper.url, 4_000);
    await expect(session.getData('/private')).resolves.toBe(NO_AUTH);
    await session.auth('digest', 'super:wrong');
    await expect(session.getData('/private')).resolves.toBe(NO_AUTH);
    await session.auth('digest', 'super:secret');
    await expect(session.getData('/private')).resolves.toBe(0);
  });

  test.for(['SIGKILL', 'SIGTERM'] as const)('ended with %s, it is gone; started again, it has its address and its data', async (signal) => {
    const { url } = zookeeper;
    await zookeeper.ctl(['create', `/${signal}`, 'value']);
    await zookeeper.kill(signal);
    await expect(fourLetterWord(zookeeper, 'ruok')).rejects.toThrow(NO_ANSWER);
    await zookeeper.kill(signal);
    await zookeeper.restart();
    expect(zookeeper.url).toBe(url);
    await expect(zookeeper.ctl(['get', `/${signal}`])).resolves.toBe('value\n');
  });

  test('paused, it does not answer; resumed, it does; paused and restarted, it does, too', async () => {
    await zookeeper.pause();
    await expect(fourLetterWord(zookeeper, 'ruok')).rejects.toThrow(NO_ANSWER);
    await zookeeper.resume();
    await expect(fourLetterWord(zookeeper, 'ruok')).resolves.toBe('imok');
    await zookeeper.pause();
    await zookeeper.restart();
    await expect(fourLetterWord(zookeeper, 'ruok')).resolves.toBe('imok');
  });

  test('is out of reach while a proxy before it is a black hole, and within it when healed', async () => {
    await using proxy = await startProxy(zookeeper.url);
    expect(new URL(proxy.url).protocol).toBe('zookeeper:');
    await expect(fourLetterWord(proxy, 'ruok')).resolves.toBe('imok');
    proxy.blackhole();
    await expect(fourLetterWord(proxy, 'ruok')).rejects.toThrow(NO_ANSWER);
    await proxy.heal();
    await expect(fourLetterWord(proxy, 'ruok')).resolves.toBe('imok');
  });

  test('stopped, it is gone for good; stopping again does nothing', async () => {
    const other = await startZookeeper({ tickMs: 2_000, settings: ['maxSessionTimeout=5000'] });
    using session = await ZookeeperSession.open(other.url, 60_000);
    expect(session.timeoutMs).toBe(5_000);
    await other.stop();
    await other.stop();
    await expect(fourLetterWord(other, 'ruok')).rejects.toThrow(NO_ANSWER);
  });

  test('where it does not start, its log says why', async () => {
    const failure = startZookeeper({ settings: ['tickTime=soon'] });
    await expect(failure).rejects.toThrow(/does not serve; its log ends with:[^]*soon/);
  });
});

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('a ZooKeeper with certificates', () => {
  test('serves who trusts its authority, and nobody in plain text', async () => {
    await using zookeeper = await startZookeeper({ tls: 'server' });
    const ca = await readFile(zookeeper.tls?.ca ?? '');
    await expect(shake(zookeeper, { ca })).resolves.toBe('imok');
    await expect(shake(zookeeper, {})).rejects.toThrow(/unable to verify|self.signed/);
    await expect(fourLetterWord({ url: zookeeper.url }, 'ruok')).rejects.toThrow(NO_ANSWER);
  });

  test('serves only who has a certificate of its authority where it demands one', async () => {
    await using zookeeper = await startZookeeper({ tls: 'mutual' });
    const ca = await readFile(zookeeper.tls?.ca ?? '');
    await expect(shake(zookeeper, { ca })).rejects.toThrow(/alert bad certificate|alert handshake failure|certificate required|ECONNRESET/);
    await expect(fourLetterWord(zookeeper, 'ruok')).resolves.toBe('imok');
    await zookeeper.ctl(['create', '/key', 'value']);
    await expect(zookeeper.ctl(['get', '/key'])).resolves.toBe('value\n');
  });
});

describe.runIf(await requireStore({ store: 'zookeeper', version: 'newer', own: true }))('a newer ZooKeeper', () => {
  test('is newer, and serves', async () => {
    await using zookeeper = await startZookeeper({ version: 'newer', tls: 'mutual' });
    expect(Number(zookeeper.version.split('.')[1])).toBeGreaterThanOrEqual(9);
    await zookeeper.ctl(['create', '/key', 'value']);
    await zookeeper.restart();
    await expect(zookeeper.ctl(['get', '/key'])).resolves.toBe('value\n');
  });

  test.runIf(canMount)(
    'serves where the jars of an older one are installed',
    async () => {
      const older = join(await unpackedPackages({ names: JAR_PACKAGES, release: 'bookworm' }), INSTALLED);
      const inTheirPlace = `mount --bind "${older}" ${INSTALLED} && exec "$0" "$@"`;
      const script = ['--conditions=@incumbent/source', fileURLToPath(new URL('./scripts/newer-zookeeper.ts', import.meta.url))];
      const version = await run('unshare', ['--mount', 'sh', '-c', inTheirPlace, process.execPath, ...script], { timeoutMs: 120_000 });
      expect(version).toMatch(/^3\.9\./);
    },
    120_000,
  );
});

/** Asks a server how it is, over TLS with these settings and no certificate of one's own. */
async function shake({ url }: ZookeeperServer, settings: ConnectionOptions): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ ...settings, host: hostname, port: Number(port) });
  socket.write('ruok');
  return text(socket);
}
