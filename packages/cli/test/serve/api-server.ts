/** Serves the API of a sidecar. */

import { type Pages, routesOf } from '../../src/serve/http/routes.ts';
import { ApiServer, type ApiServerOptions } from '../../src/serve/http/server.ts';
import type { OpenSidecar } from '../../src/serve/http/route.ts';

const json = (body: object, status = 200): { readonly status: number; readonly body: object } => ({ status, body });

export async function startApi(
  sidecar: OpenSidecar,
  options: Partial<ApiServerOptions> = {},
  more: Partial<Pages> = {},
): Promise<ApiServer> {
  const pages: Pages = {
    health: () => json({ healthy: true, problems: [] }),
    ready: () => json({ ready: false }, 503),
    metrics: () => ({ status: 200, text: '# none\n', contentType: 'text/plain; version=0.0.4' }),
    ownLeader: undefined,
    ...more,
  };
  return ApiServer.start({
    address: { host: '127.0.0.1', port: 0 },
    access: { isLocal: true },
    routes: routesOf(sidecar, pages),
    failed: (error) => {
      throw error;
    },
    ...options,
  });
}
