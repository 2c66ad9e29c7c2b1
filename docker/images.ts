/**
 * `pnpm images [store…]`: makes small images from Debian's packages, for machines that reach no
 * registry, and has the compose files take them, by `docker/.env`.
 *
 * `pnpm images --pin`: asks the registry for the digest of each published image, and writes it into
 * the files that name the image.
 */

import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildImage, composeImages, digestsOf, findEngine, imagesIn, pinImages } from '@incumbent/test-support';

const SETTINGS: URL = new URL('.env', import.meta.url);

const asked = process.argv.slice(2);
const names = Object.keys(composeImages);
const unknown = asked.filter((name) => !names.includes(name));
if (asked.join(' ') === '--pin') await pin();
else if (unknown.length > 0) fail(2, `no image of ${unknown.join(', ')}; usage: pnpm images [${names.join(' | ')}]…, or pnpm images --pin`);
else await build();

async function build(): Promise<void> {
  const engine = await findEngine();
  if (engine === undefined) return fail(1, 'no container engine answers: is Docker running? DOCKER_HOST may name its socket, unix:///path');
  for (const [name, { recipe, setting }] of Object.entries(composeImages)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    console.log(`${recipe.name}: ${recipe.packages.join(', ')} of Debian ${recipe.release}`);
    set(setting, await buildImage(engine, recipe));
  }
}

/** All files, or none where a digest cannot be had. */
async function pin(): Promise<void> {
  const root = join(import.meta.dirname, '..');
  const files = globSync(['docker/*.yaml', 'docker/Dockerfile', 'test/support/src/servers/*/image.ts'], { cwd: root }).map((file) =>
    join(root, file),
  );
  const texts = files.map((file) => readFileSync(file, 'utf8'));
  try {
    const digests = await digestsOf(texts.flatMap(imagesIn));
    for (const [index, file] of files.entries()) writeFileSync(file, pinImages(texts[index] ?? '', digests));
    for (const [tag, digest] of digests) console.log(`${tag}@${digest}`);
  } catch (error) {
    fail(1, `nothing was pinned: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Keeps what else is there. */
function set(name: string, value: string): void {
  const others = lines().filter((line) => line !== '' && !line.startsWith(`${name}=`));
  writeFileSync(SETTINGS, `${[...others, `${name}=${value}`].join('\n')}\n`);
}

function lines(): readonly string[] {
  try {
    return readFileSync(SETTINGS, 'utf8').split('\n');
  } catch {
    return [];
  }
}

function fail(status: number, why: string): void {
  console.error(why);
  process.exitCode = status;
}
