import { getContainerRuntimeClient, ImageName } from 'testcontainers';

import type { Engine } from '../engine/engine.ts';
import { setting, type Setting } from '../settings.ts';
import { isDebian } from '../servers/apt.ts';
import { firstOf } from '../servers/source.ts';
import { buildImage } from './build.ts';
import type { ImageRecipe } from './recipe.ts';

/** The sources of a store's image. */
export interface ImageSource {
  /** The environment variable that may name another image. */
  readonly setting?: Setting;
  /** The recipe from Debian's packages: the same servers as without an engine. */
  readonly recipe: ImageRecipe;
  /** A published image for machines without Debian's packages. */
  readonly published: string;
}

/**
 * The image that the environment names, otherwise one that is built here, otherwise the published
 * one. Throws `StoreUnavailable` if there is none.
 */
export function findImage(engine: Engine, { setting: name, recipe, published }: ImageSource): Promise<string> {
  return firstOf(`image like ${published}`, [
    { what: name ?? 'setting that names one', find: async () => (name === undefined ? undefined : setting(name)) },
    // On other systems it would only fail after a while.
    { what: `Debian for ${recipe.name}`, find: async () => ((await isDebian()) ? buildImage(engine, recipe) : undefined) },
    { what: `${published} in a registry`, find: () => pulled(published) },
  ]);
}

/** Throws if testcontainers cannot use the engine, or if the image is not available. */
async function pulled(image: string): Promise<string> {
  const client = await getContainerRuntimeClient();
  const name = ImageName.fromString(image);
  if (!(await client.image.exists(name))) await client.image.pull(name);
  return image;
}
