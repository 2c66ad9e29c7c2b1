import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';

import { describe, expect, test, vi } from 'vitest';

import { findEngine, makeScratch, requireEngine, spawnScript, startEngine, until } from '../src/index.ts';
import { Engine } from '../src/engine/engine.ts';
import { buildImage } from '../src/images/build.ts';
import type { ImageRecipe } from '../src/images/recipe.ts';

const ENGINEER = new URL('./scripts/engineer.ts', import.meta.url);

const RECIPE: ImageRecipe = {
  name: 'incumbent/nothing:bookworm',
  release: 'bookworm',
  packages: [],
  files: { 'hello.sh': '#!/bin/sh\necho hello\n' },
  instructions: ['WORKDIR /data', 'CMD ["/hello.sh"]'],
};

// The first time, Docker is downloaded.
describe.runIf(await requireEngine({ own: true }))('an engine of one’s own', { timeout: 180_000 }, () => {
  test('answers, is found by its address, and is gone when it is stopped', async () => {
    const own = await startEngine();
    await expect(own.engine.containers()).resolves.toEqual([]);
    vi.stubEnv('DOCKER_HOST', own.engine.url);
    await expect(findEngine()).resolves.toMatchObject({ url: own.engine.url });
    await own.stop();
    await own.stop();
    await expect(findEngine()).resolves.toBeUndefined();
    await expect(readdir(dirname(own.engine.socket))).rejects.toThrow(/ENOENT/);
    vi.unstubAllEnvs();
  });

  test('makes an image of packages once, and anew when its recipe has changed', async () => {
    await using own = await startEngine();
    const labels: unknown[] = [];
    const changed = { ...RECIPE, instructions: [...RECIPE.instructions, 'EXPOSE 1'] };
    for (const recipe of [RECIPE, RECIPE, changed]) {
      await expect(buildImage(own.engine, recipe)).resolves.toBe(RECIPE.name);
      labels.push(await own.engine.labelOf(RECIPE.name, 'incumbent.recipe'));
    }
    expect(labels[0]).toMatch(/^[0-9a-f]{16}$/);
    expect(labels[1]).toBe(labels[0]);
    expect(labels[2]).not.toBe(labels[0]);
    await expect(own.engine.labelOf('incumbent/other:1', 'incumbent.recipe')).resolves.toBeUndefined();
    const broken = { ...RECIPE, name: 'incumbent/broken:1', instructions: ['NONSENSE'] };
    await expect(buildImage(own.engine, broken)).rejects.toThrow(/NONSENSE/i);
  });

  test('ends, containers and all, when the process that started it is killed', async () => {
    const tmp = await makeScratch('engineer');
    await using owner = await spawnScript(ENGINEER, { env: { TMPDIR: tmp.path } });
    const { fields } = await owner.waitFor('runs', { withinMs: 120_000 });
    expect(fields['containers']).toBe(1);
    owner.sigkill();
    await owner.exited;
    await until(async () => !(await new Engine(String(fields['socket'])).answers()), { what: 'the end of the engine', withinMs: 10_000 });
    const url = String(fields['url']).replace('redis:', 'http:');
    await until(
      async () =>
        fetch(url).then(
          () => false,
          (error: unknown) => String((error as Error).cause).includes('ECONNREFUSED'),
        ),
      {
        what: 'the end of its container',
        withinMs: 10_000,
      },
    );
    await until(async () => (await readdir(tmp.path)).every((name) => !name.startsWith('incumbent-engine')), {
      what: 'the end of its folder',
      withinMs: 10_000,
    });
    await tmp.remove();
    // Groups of processes outlive whoever made them: the next engine removes those of the dead.
    await using _next = await startEngine();
    const groups = await readdir('/sys/fs/cgroup', { recursive: true });
    expect(groups.filter((path) => path.includes(`incumbent-engine-${owner.pid}-`))).toEqual([]);
  });
});
