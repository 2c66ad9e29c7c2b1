/** The plugin of Fastify. */

import type { FastifyBaseLogger, FastifyInstance, FastifyPluginAsync } from 'fastify';
import { checkIntegrationOptions, ElectionHost, type HostOptions } from 'incumbent/host';

/** The options of the plugin. */
export interface IncumbentOptions extends Omit<HostOptions, 'onFailure'> {
  /**
   * How long to try again while the store cannot be reached, in ms. From 0 to less than the
   * `pluginTimeout` of the service, which is 10,000 by default; `pluginTimeout: 0` has no limit.
   * Default: 2 s less than `pluginTimeout`, at most 30,000. Leave it out for an open store.
   */
  readonly waitMs?: number | undefined;
  /**
   * The path of a route for liveness probes: 200, or 503 if a restart of this process would help.
   * `false` for no route. Default `'/healthz'`.
   */
  readonly healthPath?: string | false | undefined;
  /**
   * The path of a route with the metrics for Prometheus. `false` for no route.
   * Default `'/metrics'`.
   */
  readonly metricsPath?: string | false | undefined;
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
 * of the service. Without one, which is the default of Fastify, failures become warnings of Node. A
 * service registers it once.
 *
 * When the service closes, the member hands over and the work is drained before the server closes,
 * so the next leader works before this process ends. Requests that have begun are answered. New
 * requests get 503 from Fastify, also the health and the metrics, unless the service is created
 * with `return503OnClosing: false`. Then the server closes, and after it the store. Fastify does
 * not handle signals: call `service.close()` on SIGTERM. Fastify waits for the member and the work
 * for `pluginTimeout` at most: create the service with `pluginTimeout: 0` if `drainMs` is not much
 * shorter.
 *
 * @throws When the service starts, as `ElectionHost.open` does.
 */
export const incumbent: FastifyPluginAsync<IncumbentOptions> = async (service, options) => {
  checkIntegrationOptions('incumbent', options, ['healthPath', 'metricsPath']);
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
function add(
  service: FastifyInstance,
  host: ElectionHost,
  paths: { readonly healthPath: string | false; readonly metricsPath: string | false },
): void {
  const { healthPath, metricsPath } = paths;
  service.decorate('incumbent', host);
  service.addHook('preClose', () => host.shutdown({ timeoutMs: shutdownMsOf(service, host) }));
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
  const hasLogger = logs(service.log);
  return ElectionHost.open({
    ...options,
    ...waitOf(service, options),
    // A member without a logger warns itself.
    ...(hasLogger ? { member: { ...options.member, logger: options.member?.logger ?? service.log } } : {}),
    onFailure: ({ election, error }) => {
      const text = `this process takes no further part in the election "${election}"`;
      if (hasLogger) service.log.error(error, text);
      else warn(text, error);
    },
  });
}

/**
 * Whether the service has a logger. Without one, all methods of `log` are one function, which does
 * nothing. The same holds for pino with the level `silent`, but then `log` has a level.
 */
function logs(log: FastifyBaseLogger): boolean {
  const { fatal, error, warn: warns, info, debug, trace } = log;
  return 'level' in log || new Set([fatal, error, warns, info, debug, trace]).size > 1;
}

function warn(text: string, error: unknown): void {
  const [why, detail] = error instanceof Error ? [error.message, error.stack] : [String(error), undefined];
  const options = { type: 'IncumbentWarning', code: 'INCUMBENT_WORK_FAILED' };
  process.emitWarning(`${text}: ${why}`, detail === undefined ? options : { ...options, detail });
}

/** The time that the shutdown leaves for other hooks, in ms. */
const OTHER_HOOKS_MS = 1_000;

/**
 * How long the shutdown may take. Fastify does not wait for the hooks `preClose` for longer than
 * `pluginTimeout`, and then `service.close()` rejects.
 */
function shutdownMsOf({ initialConfig }: FastifyInstance, { member }: ElectionHost): number {
  const { pluginTimeout = 0 } = initialConfig;
  const { drainMs, callTimeoutMs } = member.timing;
  const limitMs = pluginTimeout === 0 ? Infinity : Math.max(pluginTimeout - OTHER_HOOKS_MS, 1);
  return Math.min(drainMs + 3 * callTimeoutMs, limitMs);
}

/** The time that a failed wait leaves for the end of its last attempt, in ms. */
const LAST_ATTEMPT_MS = 2_000;
const MAX_WAIT_MS = 30_000;

/**
 * Ends the wait for the store before Fastify gives the plugin up: its error does not say that the
 * store is away.
 */
function waitOf({ initialConfig }: FastifyInstance, { store, waitMs }: Omit<HostOptions, 'onFailure'>): Pick<HostOptions, 'waitMs'> {
  const { pluginTimeout = 0 } = initialConfig;
  const isOpen = typeof store === 'object' && !(store instanceof URL);
  if (isOpen || pluginTimeout === 0) return {};
  if (waitMs === undefined) return { waitMs: Math.min(Math.max(pluginTimeout - LAST_ATTEMPT_MS, 0), MAX_WAIT_MS) };
  if (!(waitMs >= pluginTimeout)) return {};
  const limit = `less than the pluginTimeout of the service, ${pluginTimeout} ms: fastify({ pluginTimeout: 0 }) has no limit`;
  throw Object.assign(new RangeError(`waitMs is ${waitMs}: it must be ${limit}`), { code: 'INVALID_OPTION' });
}
