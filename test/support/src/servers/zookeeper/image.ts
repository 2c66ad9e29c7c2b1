import { getContainerRuntimeClient, ImageName } from 'testcontainers';

import { setting } from '../../settings.ts';
import type { StoreVersion } from '../types.ts';

const IMAGES: Readonly<Record<StoreVersion, string>> = { default: 'zookeeper:3.8', newer: 'zookeeper:3.9' };

/**
 * An image with ZooKeeper: `INCUMBENT_ZOOKEEPER_IMAGE`, or the official one. Throws where testcontainers cannot work with the engine, or the
 * image cannot be had.
 */
export async function zookeeperImage(version: StoreVersion): Promise<string> {
  const client = await getContainerRuntimeClient();
  const image = setting('INCUMBENT_ZOOKEEPER_IMAGE') ?? IMAGES[version];
  const name = ImageName.fromString(image);
  if (!(await client.image.exists(name))) await client.image.pull(name);
  return image;
}
