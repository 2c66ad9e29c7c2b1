import { getContainerRuntimeClient, ImageName } from 'testcontainers';

import type { Engine } from '../engine/engine.ts';
import { setting, type Setting } from '../settings.ts';
import { isDebian } from '../servers/apt.ts';
import { firstOf } from '../servers/source.ts';
import { buildImage } from './build.ts';
import type { ImageRecipe } from './recipe.ts';

/** Where an image of a store comes from. */
export interface ImageSource {
  /** What in the environment may name another. */
  readonly setting?: Setting;
  /** Of Debian's packages: the same servers as where there is no engine. */
  readonly recipe: ImageRecipe;
  /** Its like in a registry, for machines that have no packages of Debian's. */
  readonly published: string;
}

/**
 * The image that is named in the environment; else one built here; else the published one. Throws
 * `StoreUnavailable` where none is to be had.
 */
export function findImage(engine: Engine, { setting: name, recipe, published }: ImageSource): Promise<string> {
  return firstOf(`image like ${published}`, [
    { what: name ?? 'setting that names one', find: async () => (name === undefined ? undefined : setting(name)) },
    // Elsewhere it could only fail, which takes its time.
    { what: `Debian for ${recipe.name}`, find: async () => ((await isDebian()) ? buildImage(engine, recipe) : undefined) },
    { what: `${published} in a registry`, find: () => pulled(published) },
  ]);
}

/** Throws where testcontainers cannot work with the engine, or the image cannot be had. */
async function pulled(image: string): Promise<string> {
  const client = await getContainerRuntimeClient();
  const name = ImageName.fromString(image);
  if (!(await client.image.exists(name))) await client.image.pull(name);
  return image;
}
