import { hasContainerEngine } from './engine.ts';
import type { Instance, InstancePlan } from './instance.ts';
import { firstOf, type Candidate } from './source.ts';
import type { StoreName, StoreVersion } from './types.ts';

/** Where this machine's servers of a store come from. */
export interface ServerSource {
  /** For messages: "etcd on the PATH". */
  readonly what: string;
  /** A server, not started yet. */
  instance(plan: InstancePlan): Instance;
}

const sources = new Map<string, Promise<ServerSource>>();

/** Looks, the first time, for a source. Throws `StoreUnavailable` where there is none. */
export function serverSource(
  store: StoreName,
  version: StoreVersion,
  candidates: readonly Candidate<ServerSource>[],
): Promise<ServerSource> {
  const what = `${store} (${version})`;
  const known = sources.get(what) ?? firstOf(what, candidates);
  sources.set(what, known);
  return known;
}

/**
 * Containers of an image, where an engine answers. `env` is the plan's besides its own: what in this image differs from where else the
 * servers may come from.
 */
export function inContainers(findImage: () => Promise<string>, env: Readonly<Record<string, string>> = {}): Candidate<ServerSource> {
  return {
    what: 'container engine',
    async find() {
      if (!(await hasContainerEngine())) return undefined;
      const [image, { ContainerInstance }] = await Promise.all([findImage(), import('./container.ts')]);
      return {
        what: `containers of ${image}`,
        instance: (plan) => new ContainerInstance(image, { ...plan, env: { ...plan.env, ...env } }),
      };
    },
  };
}
