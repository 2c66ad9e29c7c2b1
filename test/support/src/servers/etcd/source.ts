import { join } from 'node:path';

import { hasContainerEngine } from '../engine.ts';
import { folderOnPath } from '../find.ts';
import type { Instance, InstancePlan } from '../instance.ts';
import { LocalInstance } from '../local.ts';
import { unpackedPackages } from '../packages.ts';
import { firstOf, type Candidate } from '../source.ts';
import type { EtcdVersion } from './types.ts';

const PROGRAMS = ['etcd', 'etcdctl'] as const;
const PACKAGES = ['etcd-server', 'etcd-client'] as const;

/** The release of Debian that has the newer etcd, which needs nothing of it but a C library as old as that of the release before. */
const NEWER_RELEASE = 'trixie';

/** Where this machine's etcd servers come from. */
export interface EtcdSource {
  /** For messages: "etcd on the PATH". */
  readonly what: string;
  /** A server, not started yet. */
  instance(plan: InstancePlan): Instance;
}

const sources = new Map<EtcdVersion, Promise<EtcdSource>>();

/** Looks, the first time, for a source. Throws `StoreUnavailable` where there is none. */
export function etcdSource(version: EtcdVersion = 'default'): Promise<EtcdSource> {
  const known = sources.get(version) ?? firstOf(`etcd (${version})`, candidates(version));
  sources.set(version, known);
  return known;
}

function candidates(version: EtcdVersion): readonly Candidate<EtcdSource>[] {
  const programs = version === 'default' ? etcdPrograms : [newerPrograms];
  return [inContainers(version), ...programs.map(asProcesses)];
}

function inContainers(version: EtcdVersion): Candidate<EtcdSource> {
  return {
    what: 'container engine',
    async find() {
      if (!(await hasContainerEngine())) return undefined;
      const [{ etcdImage }, { ContainerInstance }] = await Promise.all([import('./image.ts'), import('../container.ts')]);
      const image = await etcdImage(version);
      return { what: `containers of ${image}`, instance: (plan) => new ContainerInstance(image, plan) };
    },
  };
}

/** Folders of this machine with etcd's programs, the system's own version. */
export const etcdPrograms: readonly Candidate<string>[] = [
  { what: 'etcd on the PATH', find: () => folderOnPath(...PROGRAMS) },
  { what: "the system's packages", find: () => programsOf() },
];

const newerPrograms: Candidate<string> = { what: `Debian's packages of ${NEWER_RELEASE}`, find: () => programsOf(NEWER_RELEASE) };

async function programsOf(release?: string): Promise<string> {
  const folder = await unpackedPackages({ names: PACKAGES, ...(release === undefined ? {} : { release }) });
  return join(folder, 'usr', 'bin');
}

function asProcesses({ what, find }: Candidate<string>): Candidate<EtcdSource> {
  return {
    what,
    async find() {
      const folder = await find();
      return folder === undefined ? undefined : { what, instance: (plan) => new LocalInstance(folder, plan) };
    },
  };
}
