import { getContainerRuntimeClient, ImageName } from 'testcontainers';

import { setting } from '../../settings.ts';

const IMAGE = 'hashicorp/consul:1.22';

/**
 * An image with Consul: `INCUMBENT_CONSUL_IMAGE`, or the official one. Throws where testcontainers cannot work with the engine, or the image
 * cannot be had.
 */
export async function consulImage(): Promise<string> {
  const client = await getContainerRuntimeClient();
  const image = setting('INCUMBENT_CONSUL_IMAGE') ?? IMAGE;
  const name = ImageName.fromString(image);
  if (!(await client.image.exists(name))) await client.image.pull(name);
  return image;
}
