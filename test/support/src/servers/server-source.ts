import { findEngine } from '../engine/find.ts';
import type { ImageSource } from '../images/find.ts';
import type { Instance, InstancePlan } from './instance.ts';
import { LocalInstance } from './local.ts';
import { firstOf, type Candidate } from './source.ts';
import type { StoreName, StoreVersion } from './types.ts';

/** The origin of this machine's servers of a store. */
export interface ServerSource {
  /** For messages: "etcd on the PATH". */
  readonly what: string;
  /** The folder of the programs, unless they are in a container. */
  readonly programs?: string;
  /** A server that is not started yet. */
  instance(plan: InstancePlan): Instance;
}

const sources = new Map<string, Promise<ServerSource>>();

/**
 * Finds a source on the first call, and again when none was found or another engine is to be used.
 * Throws `StoreUnavailable` if there is none.
 */
export function serverSource(
  store: StoreName,
  version: StoreVersion,
  candidates: readonly Candidate<ServerSource>[],
): Promise<ServerSource> {
  const what = `${store} (${version})`;
  const key = `${what} ${process.env['DOCKER_HOST'] ?? ''}`;
  const known = sources.get(key);
  if (known !== undefined) return known;
  const looking = firstOf(what, candidates);
  sources.set(key, looking);
  looking.catch(() => sources.delete(key));
  return looking;
}

/** Processes of this machine, from the programs in a folder. */
function asProcesses({ what, find }: Candidate<string>): Candidate<ServerSource> {
  return {
    what,
    async find() {
      const folder = await find();
      return folder === undefined ? undefined : { what, programs: folder, instance: (plan) => new LocalInstance(folder, plan) };
    },
  };
}

/**
 * The candidates of a version of a store: containers of its image, and processes from the folders
 * of its programs.
 */
export function candidatesOf(image: ImageSource, programs: readonly Candidate<string>[]): readonly Candidate<ServerSource>[] {
  return [inContainers(image), ...programs.map(asProcesses)];
}

/**
 * Containers of an image, if an engine answers. `env` is added to the plan's environment, for what
 * differs in this image from other sources.
 */
export function inContainers(source: ImageSource, env: Readonly<Record<string, string>> = {}): Candidate<ServerSource> {
  return {
    what: 'container engine',
    async find() {
      const engine = await findEngine();
      if (engine === undefined) return undefined;
      // Loaded on demand, because testcontainers takes long to load.
      const [{ findImage }, { ContainerInstance }] = await Promise.all([import('../images/find.ts'), import('./container.ts')]);
      const image = await findImage(engine, source);
      return {
        what: `containers of ${image}`,
        instance: (plan) => new ContainerInstance(image, { ...plan, env: { ...plan.env, ...env } }),
      };
    },
  };
}
