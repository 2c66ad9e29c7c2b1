/** The work of `incumbent serve`: listens, opens the store, serves the API, and stops in order. */

import { type Store, StoreError, systemClock } from '@incumbent/core';
import { longestDrainMs } from '@incumbent/core/adapter';
import { Monitor, type Problem } from 'incumbent/monitor';

import { Exit, toCliError, usageError } from '../exit.ts';
import { showDuration } from '../common/duration.ts';
import { openUrl, sayWhileWaiting, storeUrl, type StoreOptions } from '../common/store.ts';
import { newMemberId, sharedStoreUrl } from '../common/member.ts';
import type { CliContext } from '../context.ts';
import { pagesOf, type Page } from '../run/health.ts';
import { Readiness } from '../run/readiness.ts';
import { runTiming } from '../run/timing.ts';
import { startHealthCheck, urlCheck } from './health-check.ts';
import { listening, type ListenOptions, startServer } from './http/listen.ts';
import type { Answer } from './http/route.ts';
import { type Pages, routesOf } from './http/routes.ts';
import { ServeLog } from './log.ts';
import { OwnCandidacy } from './own-candidacy.ts';
import { aborted } from './until-signal.ts';
import { Sidecar } from './sidecar.ts';

export interface ServeOptions extends StoreOptions, ListenOptions {
  readonly election?: string;
  readonly health?: URL;
  readonly member?: string;
  readonly value?: unknown;
  readonly ttl?: number;
  readonly drain?: number;
  readonly storeWait?: number;
  readonly acceptWeakStore?: string;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** A shorter drain leaves a client no time between an answer and its deadline, in ms. */
const SHORTEST_DRAIN_MS = 100;

/**
 * Resolves with the exit code when a signal has stopped the sidecar, in order. Rejects, after the
 * same stop, if the campaign of `--election` fails for good: a supervisor may start it again.
 */
export async function serve(options: ServeOptions, context: CliContext, stopping: AbortSignal): Promise<number> {
  const log = new ServeLog(context.err, options.quiet === true ? 'quiet' : options.verbose === true ? 'verbose' : 'normal');
  checkOptions(options);
  const { access, tls } = listening(options);
  const url = sharedStoreUrl(storeUrl(options, context));
  const memberId = options.member ?? newMemberId();
  // Before the member, whose events it counts.
  using monitor = new Monitor();
  using readiness = new Readiness();
  const service: Service = { memberId, readiness, log, sidecar: undefined, own: undefined };
  const routes = routesOf(() => service.sidecar ?? notOpen(), pages(monitor, service, options));
  const failed = (error: unknown): void => log.error(`a request has failed: ${toCliError(error).text}`);
  // Probes have an answer while the store is away. The server closes last: clients can still
  // acknowledge while the sidecar closes.
  await using server = await startServer({ address: options.listen, access, ...(tls === undefined ? {} : { tls }), routes, failed });
  const store = await openStore(url, options, context, service, stopping);
  if (store === undefined) return Exit.OK;
  try {
    await serveOn(store, options, service, server.url, stopping);
    return Exit.OK;
  } finally {
    await store.close();
  }
}

/** What the server shows. Without a sidecar before the store is open. */
interface Service {
  readonly memberId: string;
  readonly readiness: Readiness;
  readonly log: ServeLog;
  sidecar: Sidecar | undefined;
  own: OwnCandidacy | undefined;
}

function notOpen(): never {
  throw new StoreError('UNREACHABLE', 'notSent', 'the sidecar waits for its store, and its log says why: try again');
}

async function serveOn(store: Store, options: ServeOptions, service: Service, url: string, stopping: AbortSignal): Promise<void> {
  const { ttl, drain, acceptWeakStore, election, value, health } = options;
  const { memberId, readiness, log } = service;
  const { ttlMs, drainMs } = drainTiming(ttl, drain, store);
  await using sidecar = new Sidecar(store, { memberId, ttlMs, drainMs, acceptWeakStore, ...log.sidecarOptions });
  const failure = Promise.withResolvers<never>();
  const own = election === undefined ? undefined : new OwnCandidacy(sidecar, election, value, failure.reject);
  readiness.follow(sidecar.member);
  Object.assign(service, { sidecar, own });
  log.listening(url, memberId, store.name);
  let stopCheck = (): void => {};
  try {
    stopCheck = campaignOf(own, health, log, failure.reject);
    await Promise.race([aborted(stopping), failure.promise]);
  } finally {
    stopCheck();
  }
}

/**
 * Campaigns at once, or while the application is healthy. Calls `failed` if it cannot campaign when
 * the application becomes healthy.
 */
function campaignOf(own: OwnCandidacy | undefined, health: URL | undefined, log: ServeLog, failed: (error: unknown) => void): () => void {
  if (own === undefined) return () => {};
  if (health === undefined) {
    own.setHealthy(true);
    return () => {};
  }
  const changed = (healthy: boolean): void => {
    log.health(healthy);
    try {
      own.setHealthy(healthy);
    } catch (error) {
      failed(error);
    }
  };
  return startHealthCheck({ clock: systemClock, check: urlCheck(health), changed });
}

function pages(monitor: Monitor, service: Service, { election }: ServeOptions): Pages {
  const { memberId, readiness } = service;
  const parts = (): { readonly candidacies: number; readonly memberships: number } => ({
    candidacies: service.sidecar?.size ?? 0,
    memberships: service.sidecar?.memberships.size ?? 0,
  });
  // A restart of the sidecar would not stop the work of a client, and would end all other terms.
  const isFatal = ({ problem }: Problem): boolean => problem !== 'stuck';
  const all = pagesOf(monitor, readiness, () => ({ member: memberId, ...parts() }), isFatal);
  const answer = (page: Page | undefined): Answer => {
    if (page === undefined) throw new TypeError('there is no such page');
    return { status: page.ok ? 200 : 503, text: page.text, contentType: page.contentType };
  };
  return {
    health: () => answer(all['/healthz']?.()),
    ready: () => {
      const { candidacies, memberships } = parts();
      // Without both there is nothing to take part in, and no lease.
      const isIdle = service.sidecar !== undefined && candidacies + memberships === 0;
      return isIdle ? { status: 200, body: { ready: true, candidacies, memberships } } : answer(all['/readyz']?.());
    },
    metrics: () => answer(all['/metrics']?.()),
    ownLeader: election === undefined ? undefined : async () => (service.own ?? notOpen()).answer(),
  };
}

/**
 * The ttl is that of `run`. The drain is as long as its grace and the time for SIGKILL together.
 */
function drainTiming(
  ttl: number | undefined,
  drain: number | undefined,
  store: Store,
): { readonly ttlMs: number; readonly drainMs: number } {
  const { ttlMs, drainMs: defaultMs } = runTiming(ttl, undefined, store);
  const drainMs = drain ?? defaultMs;
  const longestMs = longestDrainMs({ ttlMs }, store);
  if (drainMs >= SHORTEST_DRAIN_MS && drainMs <= longestMs) return { ttlMs, drainMs };
  throw usageError(
    `--drain ${showDuration(drainMs)} does not fit into --ttl ${showDuration(ttlMs)}: from ${showDuration(SHORTEST_DRAIN_MS)} to ${showDuration(longestMs)}`,
  );
}

async function openStore(
  url: string,
  { storeWait: waitMs = Infinity }: ServeOptions,
  context: CliContext,
  { log, readiness }: Service,
  signal: AbortSignal,
): Promise<Store | undefined> {
  const say = sayWhileWaiting((why) => log.waitingForStore(why));
  const onRetry = (error: unknown): void => {
    readiness.storeFailed(error);
    say(error);
  };
  try {
    return await openUrl(url, context, { waitMs, signal, onRetry });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

function checkOptions({ election, health, value }: ServeOptions): void {
  if (election === undefined && health !== undefined) throw usageError('--health needs --election: it decides about that campaign');
  if (election === undefined && value !== undefined) throw usageError('--value needs --election: other candidacies bring their own');
}
