import { createHash } from 'node:crypto';

import type { Engine } from '../engine/engine.ts';
import { makeScratch } from '../scratch.ts';
import { archiveOf } from './archive.ts';
import { BASE, type ImageRecipe } from './recipe.ts';

const LABEL = 'incumbent.recipe';

/**
 * Builds the image in this engine unless it exists and was built by the same recipe. Uses Debian's
 * packages and no registry.
 */
export async function buildImage(engine: Engine, recipe: ImageRecipe): Promise<string> {
  const { name, instructions } = recipe;
  const hash = createHash('sha256')
    .update(JSON.stringify([recipe, BASE]))
    .digest('hex')
    .slice(0, 16);
  if ((await engine.labelOf(name, LABEL)) === hash) return name;
  const scratch = await makeScratch('image');
  try {
    await engine.importImage(name, await archiveOf(recipe, scratch.path), [...instructions, `LABEL ${LABEL}=${hash}`]);
  } finally {
    await scratch.remove();
  }
  return name;
}
