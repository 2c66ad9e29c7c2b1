/** `pnpm images [store…]`: makes small images from Debian's packages, for machines that reach no registry, and prints what compose has to know: `pnpm -s images >docker/.env`. */

import { buildImage, composeImages, findEngine } from '@incumbent/test-support';

const asked = process.argv.slice(2);
const names = Object.keys(composeImages);
const unknown = asked.filter((name) => !names.includes(name));
const engine = await findEngine();
if (unknown.length > 0) fail(2, `no image of ${unknown.join(', ')}: usage: pnpm images [${names.join(' | ')}]…`);
else if (engine === undefined) fail(1, 'no container engine answers: is Docker running? DOCKER_HOST may name its socket, unix:///path');
else {
  for (const [name, { recipe, setting }] of Object.entries(composeImages)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    console.error(`${recipe.name}: ${recipe.packages.join(', ')} of Debian ${recipe.release}`);
    console.log(`${setting}=${await buildImage(engine, recipe)}`);
  }
}

function fail(status: number, why: string): void {
  console.error(why);
  process.exitCode = status;
}
