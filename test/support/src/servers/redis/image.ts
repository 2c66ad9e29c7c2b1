import { getContainerRuntimeClient, ImageName } from 'testcontainers';

import { setting } from '../../settings.ts';
import type { StoreVersion } from '../types.ts';

const IMAGES: Readonly<Record<StoreVersion, string>> = { default: 'redis:7.0', newer: 'valkey/valkey:8.1' };

/**
 * An image with `redis-server` and `redis-cli`, which Valkey's has, too: `INCUMBENT_REDIS_IMAGE`, or the official one. Throws where testcontainers
 * cannot work with the engine, or the image cannot be had.
 */
export async function redisImage(version: StoreVersion): Promise<string> {
  const client = await getContainerRuntimeClient();
  const image = setting('INCUMBENT_REDIS_IMAGE') ?? IMAGES[version];
  const name = ImageName.fromString(image);
  if (!(await client.image.exists(name))) await client.image.pull(name);
  return image;
}
