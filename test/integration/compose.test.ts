import { composeImages, requireCompose } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';
import { compose, composeFiles, composeReadme, composeServices, type ComposeStore } from './compose.ts';

interface Service {
  readonly image: string;
  readonly profiles: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly ports?: readonly { readonly host_ip?: string; readonly published: string }[];
}

const STORES = Object.keys(composeImages) as readonly ComposeStore[];
/** What the machine's own environment may name. */
const NONE = Object.fromEntries(STORES.map((store) => [composeImages[store].setting, '']));

async function services(env: Readonly<Record<string, string>> = NONE): Promise<readonly (readonly [string, Service])[]> {
  const config: { readonly services: Readonly<Record<string, Service>> } = JSON.parse(
    await compose(['--profile', '*', 'config', '--format', 'json'], { env }),
  );
  return Object.entries(config.services);
}

function hostsOf(url: string): readonly string[] {
  return /^[a-z]+:\/\/(?:[a-z]+@)?([^/]*)\/(?:my-app|postgres\?namespace=my-app)$/.exec(url)?.[1]?.split(',') ?? [];
}

describe.runIf(await requireCompose())('the compose files', () => {
  it.each(composeFiles())('%s is one that `docker compose config` takes', async (file) => {
    await compose(['--file', file, '--profile', '*', 'config', '--quiet'], { env: NONE });
  });

  it('start nothing but what is asked for', async () => {
    expect(await compose(['config', '--services'], { env: NONE })).toBe('');
    expect((await services()).filter(([, { profiles }]) => profiles.length !== 1)).toEqual([]);
  });

  it('have each store alone and as a cluster of three, every server with a check of its health', async () => {
    const all = await services();
    expect(
      composeServices()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(STORES.flatMap((store) => [store, `${store}-cluster`]));
    for (const { name, isCluster } of composeServices()) {
      const servers = all.filter(([, { profiles, ports }]) => profiles.includes(name) && ports !== undefined);
      expect(servers.map(([server]) => server)).toEqual(isCluster ? [1, 2, 3].map((n) => name.replace('cluster', String(n))) : [name]);
    }
    expect(all.filter(([, { healthcheck }]) => healthcheck === undefined)).toEqual([]);
  });

  it('publish the ports of the README’s URLs, each once, on the loopback address alone', async () => {
    const all = await services();
    const published = all.flatMap(([, { ports = [], profiles }]) => ports.map((port) => ({ ...port, profile: profiles[0] })));
    expect(published.filter(({ host_ip }) => host_ip !== '127.0.0.1')).toEqual([]);
    expect(new Set(published.map(({ published: port }) => port)).size).toBe(published.length);
    for (const { name, url, store, isCluster } of composeServices()) {
      const hosts = published.filter(({ profile }) => profile === name).map(({ published: port }) => `127.0.0.1:${port}`);
      // A URL of Consul's names one agent.
      expect(hostsOf(url)).toEqual(store === 'consul' && isCluster ? hosts.slice(0, 1) : hosts);
    }
  });

  it('name pinned images, for which the environment may name others', async () => {
    const named = Object.fromEntries(STORES.map((store) => [composeImages[store].setting, `mine/${store}:1`]));
    const [usual, others] = [await services(), await services(named)];
    for (const store of STORES) {
      const imagesOf = (all: typeof usual): ReadonlySet<string> =>
        new Set(all.filter(([, { profiles }]) => profiles[0]?.split('-')[0] === store).map(([, { image }]) => image));
      const { published, recipe } = composeImages[store];
      expect(imagesOf(usual)).toEqual(new Set([published]));
      expect(published).toMatch(/:v?\d+(?:\.\d+){1,2}@sha256:[0-9a-f]{64}$/);
      expect(composeReadme()).toMatch(new RegExp(`\\| \`${recipe.name}\` \\| .* \\| \`${published.replace(/:.*/, '')}\` \\|`));
      expect(imagesOf(others)).toEqual(new Set([`mine/${store}:1`]));
    }
  });
});
