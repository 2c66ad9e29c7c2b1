import { fileURLToPath } from 'node:url';

import { GenericContainer, getContainerRuntimeClient } from 'testcontainers';

import { setting } from '../../settings.ts';
import type { StoreVersion } from '../types.ts';

const RELEASES: Readonly<Record<StoreVersion, string>> = { default: 'bookworm', newer: 'trixie' };

/**
 * An image with `etcd` and `etcdctl`: `INCUMBENT_ETCD_IMAGE`, or one built, the first time, from the Dockerfile beside this file. Throws
 * where testcontainers cannot work with the engine, or the image cannot be built.
 */
export async function etcdImage(version: StoreVersion): Promise<string> {
  await getContainerRuntimeClient();
  const own = setting('INCUMBENT_ETCD_IMAGE');
  if (own !== undefined) return own;
  const release = RELEASES[version];
  const image = `incumbent-test-etcd:${release}`;
  const folder = fileURLToPath(new URL('.', import.meta.url));
  await GenericContainer.fromDockerfile(folder).withBuildArgs({ RELEASE: release }).build(image, { deleteOnExit: false });
  return image;
}
