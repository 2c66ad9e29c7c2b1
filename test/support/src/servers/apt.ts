import { createHash } from 'node:crypto';
import { access, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { run } from '../run.ts';
import { cacheFolder } from './cache.ts';
import { withLock } from './lock.ts';

const UPDATE_TIMEOUT_MS = 60_000;
const DOWNLOAD_TIMEOUT_MS = 120_000;
const DOWNLOAD_ATTEMPTS = 3;
const PAUSE_MS = 1_000;
/** The list of the packages that are installed on this machine. */
const INSTALLED = '/var/lib/dpkg/status';
/** How long the lists of a mirror are used. Debian changes a release a few times a year. */
const LISTS_LAST_MS = 60 * 60_000;

/** The operating system of this machine, which determines the source of packages. */
interface System {
  /** `debian`, `ubuntu`. */
  readonly id: string;
  /** Its release in apt's terms: `bookworm`. */
  readonly codename: string;
  readonly mirrors: readonly string[];
}

/**
 * Downloads packages of a release (default: this machine's own) into a folder, and returns the file
 * names. Uses the mirrors, proxy and keys of the machine's apt, but keeps the lists of packages in
 * the cache, for an hour, and the rest in the folder. It needs no permissions and changes nothing
 * in the system.
 */
export async function downloadPackages(names: readonly string[], folder: string, release?: string): Promise<void> {
  await fromMirrors({ names, folder, release }, (options) => download(names, folder, options));
}

async function download(names: readonly string[], folder: string, options: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await run('apt-get', [...options, 'download', ...names], { cwd: folder, timeoutMs: DOWNLOAD_TIMEOUT_MS });
      return;
    } catch (error) {
      if (attempt === DOWNLOAD_ATTEMPTS) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/**
 * The names of these packages and of all that they need, without those that are installed. Reads
 * the lists that {@link downloadPackages} uses, because the machine's own may be empty. Keeps apt's
 * state in the folder.
 */
export async function missingPackages(names: readonly string[], folder: string, release?: string): Promise<readonly string[]> {
  const plan = await fromMirrors({ names, folder, release }, (options) =>
    run('apt-get', [...options, `-oDir::State::status=${INSTALLED}`, 'install', '--simulate', '--no-install-recommends', ...names]),
  );
  return plan.split('\n').flatMap((line) => /^Inst (\S+)/.exec(line)?.[1] ?? []);
}

interface MirrorOptions {
  readonly names: readonly string[];
  /** The folder for apt's state. */
  readonly folder: string;
  /** Default: this machine's own. */
  readonly release?: string | undefined;
}

/** Passes the task apt's options for each mirror, until it succeeds with one. */
async function fromMirrors<T>({ names, folder, release }: MirrorOptions, task: (options: readonly string[]) => Promise<T>): Promise<T> {
  const system = await thisSystem();
  const failures: unknown[] = [];
  for (const mirror of system.mirrors) {
    try {
      const source = await sourceLine(system, mirror, release ?? system.codename);
      return await task(await privateState(folder, source, await listsOf(source)));
    } catch (error) {
      failures.push(error);
    }
  }
  throw new AggregateError(failures, `no mirror of apt has ${names.join(', ')}: ${failures.map(String).join('; ')}`);
}

/** Whether this machine's mirrors have Debian's releases. */
export async function isDebian(): Promise<boolean> {
  return (await released().catch(() => undefined))?.id === 'debian';
}

async function released(): Promise<Omit<System, 'mirrors'>> {
  const release = await readFile('/etc/os-release', 'utf8');
  const field = (name: string) => new RegExp(`^${name}="?([^"\n]*)"?$`, 'm').exec(release)?.[1] ?? '';
  return { id: field('ID'), codename: field('VERSION_CODENAME') };
}

async function thisSystem(): Promise<System> {
  const { id, codename } = await released();
  const mirrors = mirrorsOf(codename, await run('apt-get', ['update', '--print-uris']));
  if (mirrors.length === 0) throw new Error(`apt has no source for ${id} ${codename}`);
  return { id, codename, mirrors };
}

/**
 * Each line begins with the quoted address of a file that an update would fetch. Third parties may
 * use the release's name, too.
 */
function mirrorsOf(codename: string, uris: string): readonly string[] {
  const suffix = `/dists/${codename}/InRelease`;
  const addresses = uris.split('\n').map((line) => /^'([^']*)'/.exec(line)?.[1] ?? '');
  return addresses.filter((address) => address.endsWith(suffix)).map((address) => address.slice(0, -suffix.length));
}

async function sourceLine({ id }: System, mirror: string, release: string): Promise<string> {
  const keyring = `/usr/share/keyrings/${id}-archive-keyring.gpg`;
  const signed = await access(keyring).then(
    () => `[signed-by=${keyring}] `,
    () => '',
  );
  const components = id === 'ubuntu' ? 'main universe' : 'main';
  return `deb ${signed}${mirror} ${release} ${components}\n`;
}

/**
 * The folder with the lists of a source. An update transfers megabytes and parses them, so all
 * processes of this machine share the lists, and one of them updates.
 */
async function listsOf(source: string): Promise<string> {
  const folder = join(cacheFolder(), 'apt', createHash('sha256').update(source).digest('hex').slice(0, 16));
  const lists = join(folder, 'lists');
  const updated = join(folder, 'updated');
  await withLock(join(folder, 'lock'), async () => {
    const age = await stat(updated).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => Infinity,
    );
    // A clock that was set back makes the age negative.
    if (age >= 0 && age < LISTS_LAST_MS) return;
    await run('apt-get', [...(await privateState(folder, source, lists)), 'update'], { timeoutMs: UPDATE_TIMEOUT_MS });
    await writeFile(updated, '');
  });
  return lists;
}

/** The options for an apt with a state of its own in the folder, and with these lists. */
async function privateState(folder: string, source: string, lists: string): Promise<readonly string[]> {
  const state = join(folder, 'apt');
  await mkdir(join(lists, 'partial'), { recursive: true });
  await mkdir(join(state, 'cache', 'archives', 'partial'), { recursive: true });
  await writeFile(join(state, 'status'), '');
  await writeFile(join(state, 'sources.list'), source);
  const settings = {
    'Dir::State': state,
    'Dir::State::lists': lists,
    'Dir::State::status': join(state, 'status'),
    'Dir::Cache': join(state, 'cache'),
    'Dir::Etc::sourcelist': join(state, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    // As root, apt would download as a user who may not write here.
    'APT::Sandbox::User': 'root',
    'APT::Update::Error-Mode': 'any',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '1',
    'Acquire::http::Timeout': '20',
    'Acquire::https::Timeout': '20',
  };
  return ['-q', ...Object.entries(settings).map(([name, value]) => `-o${name}=${value}`)];
}
