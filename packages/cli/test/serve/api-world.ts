/** A sidecar in a simulated world, and a client of its API over real HTTP. */

import type { Sidecar } from '../../src/serve/sidecar.ts';
import { ApiClient } from './api-client.ts';
import { startApi } from './api-server.ts';
import { SidecarWorld } from './world.ts';

export interface ApiWorld extends AsyncDisposable {
  readonly world: SidecarWorld;
  /** The sidecar `s1`, whose API is served. */
  readonly sidecar: Sidecar;
  readonly api: ApiClient;
}

/** Starts a world with the sidecar `s1`, and serves its API. */
export async function startApiWorld(): Promise<ApiWorld> {
  const world = new SidecarWorld();
  const sidecar = world.sidecar('s1');
  const server = await startApi(() => sidecar);
  return {
    world,
    sidecar,
    api: new ApiClient(server.url),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await world[Symbol.asyncDispose]();
    },
  };
}
