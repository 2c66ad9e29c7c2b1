import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';

import { cached } from '../servers/cache.ts';
import { folderOnPath } from '../servers/find.ts';
import { unpackedPackages } from '../servers/packages.ts';
import { firstOf, type Candidate } from '../servers/source.ts';
import { checkRights } from './rights.ts';

/**
 * The environment in which `dockerd` and all that it starts find their programs. `XTABLES` is the
 * folder of the firewall's extensions, if it is not the usual one.
 */
export type EnginePrograms = Readonly<Record<string, string>>;

/** Docker's daemon, the programs that it starts, and those libraries that a small system lacks. */
const PACKAGES = [
  ...['docker.io', 'containerd', 'runc', 'iptables'],
  ...['libapparmor1', 'libdevmapper1.02.1', 'libip4tc2', 'libip6tc2', 'libmnl0', 'libnetfilter-conntrack3', 'libnfnetlink0', 'libnftnl11'],
  ...['libseccomp2', 'libsystemd0', 'libxtables12'],
] as const;

/** `dockerd` writes rules within a container's network that resolve the container's own names. */
const FIREWALL = ['iptables', 'iptables-save', 'iptables-restore', 'ip6tables', 'ip6tables-save', 'ip6tables-restore'] as const;

const candidates: readonly Candidate<EnginePrograms>[] = [
  { what: 'dockerd on the PATH', find: installed },
  { what: "the system's packages", find: unpacked },
];

/** The programs that start an engine. Throws `StoreUnavailable` if one is missing. */
export async function enginePrograms(): Promise<EnginePrograms> {
  await checkRights();
  return firstOf('dockerd', candidates);
}

async function installed(): Promise<EnginePrograms | undefined> {
  const folder = await folderOnPath('dockerd');
  return folder === undefined ? undefined : { PATH: process.env['PATH'] ?? '' };
}

async function unpacked(): Promise<EnginePrograms> {
  const root = await unpackedPackages({ names: PACKAGES });
  const usr = join(root, 'usr');
  // The installation of a package normally selects one of the two variants.
  const firewall = await cached(join('programs', `iptables-${process.arch}`), async (folder) => {
    await mkdir(folder, { recursive: true });
    const target = (name: string): string => join(usr, 'sbin', name.replace('tables', 'tables-nft'));
    await Promise.all(FIREWALL.map((name) => symlink(target(name), join(folder, name))));
  });
  const libraries = await librariesIn(root);
  return {
    PATH: [firewall, join(usr, 'sbin'), join(usr, 'bin'), process.env['PATH'] ?? ''].join(':'),
    LD_LIBRARY_PATH: libraries.join(':'),
    XTABLES: join(libraries[0] ?? usr, 'xtables'),
  };
}

/**
 * `usr/lib/x86_64-linux-gnu` and `lib/x86_64-linux-gnu`, or the folders of this machine's
 * architecture.
 */
async function librariesIn(root: string): Promise<readonly string[]> {
  const places = ['usr/lib', 'lib'].map((place) => join(root, place));
  const found = places.map(async (place) => {
    const folders = await readdir(place).catch(() => []);
    return folders.filter((name) => name.endsWith('-linux-gnu')).map((name) => join(place, name));
  });
  return (await Promise.all(found)).flat();
}
