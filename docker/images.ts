/** `pnpm images [store…]`: makes small images from Debian's packages, for machines that reach no registry, and has the compose files take them, by `docker/.env`. */

import { readFileSync, writeFileSync } from 'node:fs';
import { buildImage, composeImages, findEngine } from '@incumbent/test-support';

const SETTINGS: URL = new URL('.env', import.meta.url);

const asked = process.argv.slice(2);
const names = Object.keys(composeImages);
const unknown = asked.filter((name) => !names.includes(name));
const engine = await findEngine();
if (unknown.length > 0) fail(2, `no image of ${unknown.join(', ')}; usage: pnpm images [${names.join(' | ')}]…`);
else if (engine === undefined) fail(1, 'no container engine answers: is Docker running? DOCKER_HOST may name its socket, unix:///path');
else {
  for (const [name, { recipe, setting }] of Object.entries(composeImages)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    console.log(`${recipe.name}: ${recipe.packages.join(', ')} of Debian ${recipe.release}`);
    set(setting, await buildImage(engine, recipe));
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
