/** The plugin of Fastify. */

import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import { ElectionHost, type HostOptions } from 'incumbent/host';

/** The options of the plugin. */
export interface IncumbentOptions extends Omit<HostOptions, 'onFailure'> {
  /**
   * The path of a route for liveness probes: 200, or 503 if a restart of this process would help.
   * `false` for no route. Default `'/healthz'`.
   */
  readonly healthPath?: string | false;
  /**
   * The path of a route with the metrics for Prometheus. `false` for no route.
   * Default `'/metrics'`.
   */
  readonly metricsPath?: string | false;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** This process's part in elections, of `@incumbent/fastify`. */
    readonly incumbent: ElectionHost;
  }
}

/**
 * Opens the store, and decorates the service with `incumbent`, an `ElectionHost`:
 * `service.incumbent.lead('mailer', work)` runs the work in one process. The member uses the logger
 * of the service. A service registers it once.
 *
 * When the service closes, the member hands over and the work is drained before the server closes,
 * so the next leader works before this process ends. Requests that have begun are answered. New
 * requests get 503 from Fastify, also the health and the metrics, unless the service is created
 * with `return503OnClosing: false`. Then the server closes, and after it the store. Fastify does
 * not handle signals: call `service.close()` on SIGTERM.
 *
 * @throws When the service starts, as `ElectionHost.open` does.
 */
export const incumbent: FastifyPluginAsync<IncumbentOptions> = async (service, options) => {
  const { healthPath = '/healthz', metricsPath = '/metrics', ...rest } = options;
  const host = await open(service, rest);
  try {
    add(service, host, { healthPath, metricsPath });
  } catch (error) {
    await host.close();
    throw error;
  }
};

// As fastify-plugin does: the service that registers the plugin gets its decorator and its hooks.
Object.assign(incumbent, { [Symbol.for('skip-override')]: true, [Symbol.for('fastify.display-name')]: '@incumbent/fastify' });

/** Throws if the service has such a decorator or such a route. */
function add(service: FastifyInstance, host: ElectionHost, paths: Required<Pick<IncumbentOptions, 'healthPath' | 'metricsPath'>>): void {
  const { healthPath, metricsPath } = paths;
  service.decorate('incumbent', host);
  service.addHook('preClose', () => host.shutdown());
  service.addHook('onClose', () => host.close());
  if (healthPath !== false)
    service.get(healthPath, async (_, reply) => {
      const health = host.health();
      return reply.code(health.healthy ? 200 : 503).send(health);
    });
  if (metricsPath !== false)
    service.get(metricsPath, async (_, reply) => reply.type(host.monitor.contentType).send(host.monitor.prometheus()));
}

function open(service: FastifyInstance, options: Omit<HostOptions, 'onFailure'>): Promise<ElectionHost> {
  return ElectionHost.open({
    ...options,
    member: { logger: service.log, ...options.member },
    onFailure: ({ election, error }) => service.log.error(error, `this process takes no further part in the election "${election}"`),
  });
}
