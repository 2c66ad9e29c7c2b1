import { mkdir, readFile, writeFile, access } from 'node:fs/promises';
import { join } from 'node:path';

import { run } from '../run.ts';

const UPDATE_TIMEOUT_MS = 60_000;
const DOWNLOAD_TIMEOUT_MS = 120_000;

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
 * names. Uses the mirrors, proxy and keys of the machine's apt, but keeps lists and caches in the
 * folder. It needs no permissions and changes nothing in the system.
 */
export async function downloadPackages(names: readonly string[], folder: string, release?: string): Promise<void> {
  const system = await thisSystem();
  const failures: unknown[] = [];
  for (const mirror of system.mirrors) {
    try {
      const options = await privateState(folder, await sourceLine(system, mirror, release ?? system.codename));
      await run('apt-get', [...options, 'update'], { timeoutMs: UPDATE_TIMEOUT_MS });
      await run('apt-get', [...options, 'download', ...names], { cwd: folder, timeoutMs: DOWNLOAD_TIMEOUT_MS });
      return;
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

async function privateState(folder: string, source: string): Promise<readonly string[]> {
  const state = join(folder, 'apt');
  await mkdir(join(state, 'lists', 'partial'), { recursive: true });
  await mkdir(join(state, 'cache', 'archives', 'partial'), { recursive: true });
  await writeFile(join(state, 'status'), '');
  await writeFile(join(state, 'sources.list'), source);
  const settings = {
    'Dir::State': state,
    'Dir::State::lists': join(state, 'lists'),
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
