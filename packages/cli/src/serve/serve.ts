/** The work of `incumbent serve`: opens the store, serves the API, and stops in order. */

import type { ServerOptions as TlsServerOptions } from 'node:https';

import { systemClock, type Store } from '@incumbent/core';
import { longestDrainMs } from '@incumbent/core/adapter';
import { Monitor } from 'incumbent/monitor';

import { Exit, toCliError, usageError } from '../exit.ts';
import { showDuration } from '../common/duration.ts';
import { openUrl, storeUrl, type StoreOptions } from '../common/store.ts';
import { newMemberId, withoutExitDetection } from '../common/member.ts';
import type { CliContext } from '../context.ts';
import { pagesOf, type Page } from '../run/health.ts';
import { Readiness } from '../run/readiness.ts';
import { runTiming } from '../run/timing.ts';
import { startHealthCheck, urlCheck } from './health-check.ts';
import type { AccessRules } from './http/access.ts';
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
  const url = withoutExitDetection(storeUrl(options, context));
  if (url.startsWith('memory:')) throw usageError('a store in memory belongs to this process alone: no other process could take part');
  const store = await openStore(url, options, context, log, stopping);
  if (store === undefined) return Exit.OK;
  try {
    await serveOn(store, { ...options, access, tls }, log, stopping);
    return Exit.OK;
  } finally {
    await store.close();
  }
}

interface Resolved extends ServeOptions {
  readonly access: AccessRules;
  readonly tls: TlsServerOptions | undefined;
}

async function serveOn(store: Store, options: Resolved, log: ServeLog, stopping: AbortSignal): Promise<void> {
  const { ttl, drain, member: memberId = newMemberId(), acceptWeakStore, election, value, health, listen, access, tls } = options;
  // Before the member, whose events it counts.
  using monitor = new Monitor();
  const { ttlMs, drainMs } = drainTiming(ttl, drain, store);
  await using sidecar = new Sidecar(store, { memberId, ttlMs, drainMs, acceptWeakStore, ...log.sidecarOptions });
  using readiness = new Readiness(sidecar.member);
  const failure = Promise.withResolvers<never>();
  const own = election === undefined ? undefined : new OwnCandidacy(sidecar, election, value, failure.reject);
  const routes = routesOf(sidecar, pages(monitor, sidecar, readiness, own));
  const failed = (error: unknown): void => log.error(`a request has failed: ${toCliError(error).text}`);
  const server = await startServer({ address: listen, access, ...(tls === undefined ? {} : { tls }), routes, failed });
  log.listening(server.url, memberId, store.name);
  let stopCheck = (): void => {};
  try {
    stopCheck = campaignOf(own, health, log, failure.reject);
    await Promise.race([aborted(stopping), failure.promise]);
  } finally {
    stopCheck();
    // The clients can still acknowledge while the sidecar closes.
    await sidecar.close();
    await server.close();
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

function pages(monitor: Monitor, sidecar: Sidecar, readiness: Readiness, own: OwnCandidacy | undefined): Pages {
  const all = pagesOf(monitor, sidecar.member, readiness, () => ({ member: sidecar.member.memberId, candidacies: sidecar.size }));
  const answer = (page: Page | undefined): Answer => {
    if (page === undefined) throw new TypeError('there is no such page');
    return { status: page.ok ? 200 : 503, text: page.text, contentType: page.contentType };
  };
  return {
    health: () => answer(all['/healthz']?.()),
    // Without candidacies there is nothing to take part in, and no lease.
    ready: () => (sidecar.size === 0 ? { status: 200, body: { ready: true, candidacies: 0 } } : answer(all['/readyz']?.())),
    metrics: () => answer(all['/metrics']?.()),
    ownLeader: own === undefined ? undefined : () => own.answer(),
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
  log: ServeLog,
  signal: AbortSignal,
): Promise<Store | undefined> {
  const onRetry = (error: unknown): void => log.waitingForStore(toCliError(error).text);
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
