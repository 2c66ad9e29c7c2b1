/** The work of `incumbent serve`: opens the store, serves the API, and stops in order. */

import { readFileSync } from 'node:fs';
import type { ServerOptions as TlsServerOptions } from 'node:https';

import { systemClock, type Store } from '@incumbent/core';
import { describeHidden, longestDrainMs } from '@incumbent/core/adapter';
import { Monitor } from 'incumbent/monitor';

import { Exit, toCliError, usageError } from '../exit.ts';
import { showDuration } from '../common/duration.ts';
import { openUrl, storeUrl, type StoreOptions } from '../common/store.ts';
import { newMemberId, withoutExitDetection } from '../common/member.ts';
import type { CliContext } from '../context.ts';
import { pagesOf, type Page } from '../run/health.ts';
import { runTiming } from '../run/timing.ts';
import { startHealthCheck, urlCheck } from './health-check.ts';
import { isLoopbackHost } from './http/access.ts';
import type { Answer } from './http/route.ts';
import { type Pages, routesOf } from './http/routes.ts';
import { ApiServer, type ListenAddress } from './http/server.ts';
import { ServeLog } from './log.ts';
import { OwnCandidacy } from './own-candidacy.ts';
import { Sidecar } from './sidecar.ts';

export interface ServeOptions extends StoreOptions {
  readonly listen: ListenAddress;
  readonly tokenFile?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsClientCa?: string;
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
/** The shortest text that counts as a token. */
const MIN_TOKEN_CHARACTERS = 16;

/** Resolves with the exit code when a signal has stopped the sidecar, in order. */
export async function serve(options: ServeOptions, context: CliContext, stopping: AbortSignal): Promise<number> {
  const log = new ServeLog(context.err, options.quiet === true ? 'quiet' : options.verbose === true ? 'verbose' : 'normal');
  checkOptions(options);
  const access = { isLocal: isLocal(options.listen), ...tokenOf(options.tokenFile) };
  const tls = tlsOf(options);
  if (!access.isLocal && access.token === undefined && tls?.requestCert !== true)
    throw usageError('--listen is not loopback: others may connect, so it needs --token-file or --tls-client-ca');
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
  readonly access: { readonly isLocal: boolean; readonly token?: string };
  readonly tls: TlsServerOptions | undefined;
}

async function serveOn(store: Store, options: Resolved, log: ServeLog, stopping: AbortSignal): Promise<void> {
  const { ttl, drain, member: memberId = newMemberId(), acceptWeakStore, election, value, health, listen, access, tls } = options;
  // Before the member, whose events it counts.
  using monitor = new Monitor();
  const { ttlMs, drainMs } = drainTiming(ttl, drain, store);
  const weak = acceptWeakStore === undefined ? {} : { acceptWeakStore };
  await using sidecar = new Sidecar(store, {
    memberId,
    ttlMs,
    drainMs,
    logger: log.logger,
    ...weak,
    publishFailed: ({ id }, error) => log.error(`the value of "${id}" is not published: ${toCliError(error).text}`),
    failed: ({ id, election: name }, why) => log.error(`"${id}" cannot campaign for "${name}": ${why}`),
    elected: ({ id, election: name }, term) => log.leads(id, name, term),
    ended: ({ id, election: name }, term, reason) => log.leadsNoMore(id, name, term, reason),
  });
  const own = election === undefined ? undefined : new OwnCandidacy(sidecar, election, value);
  const routes = routesOf(sidecar, pages(monitor, sidecar, own));
  const failed = (error: unknown): void => log.error(`a request has failed: ${toCliError(error).text}`);
  const server = await ApiServer.start({ address: listen, access, ...(tls === undefined ? {} : { tls }), routes, failed }).catch(
    (error: unknown) => {
      throw usageError(`cannot listen at --listen: ${error instanceof Error ? error.message : String(error)}`);
    },
  );
  log.listening(server.url, memberId, store.name);
  const stopCheck = campaignOf(own, health, log);
  try {
    await aborted(stopping);
  } finally {
    stopCheck();
    // The clients can still acknowledge while the sidecar closes.
    await sidecar.close();
    await server.close();
  }
}

/** Campaigns at once, or while the application is healthy. */
function campaignOf(own: OwnCandidacy | undefined, health: URL | undefined, log: ServeLog): () => void {
  if (own === undefined) return () => {};
  if (health === undefined) {
    own.setHealthy(true);
    return () => {};
  }
  const changed = (healthy: boolean): void => {
    log.health(healthy);
    own.setHealthy(healthy);
  };
  return startHealthCheck({ clock: systemClock, check: urlCheck(health), changed });
}

function pages(monitor: Monitor, sidecar: Sidecar, own: OwnCandidacy | undefined): Pages {
  const all = pagesOf(monitor, sidecar.member, () => ({ member: sidecar.member.memberId, candidacies: sidecar.size }));
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

/** The ttl is that of `run`. The drain is as long as its grace and the time for SIGKILL together. */
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

function checkOptions({ election, health, value, tlsCert, tlsKey, tlsClientCa, listen }: ServeOptions): void {
  if (election === undefined && health !== undefined) throw usageError('--health needs --election: it decides about that campaign');
  if (election === undefined && value !== undefined) throw usageError('--value needs --election: other candidacies bring their own');
  if ((tlsCert === undefined) !== (tlsKey === undefined)) throw usageError('--tls-cert and --tls-key must be given together');
  if (tlsClientCa !== undefined && tlsCert === undefined) throw usageError('--tls-client-ca needs --tls-cert and --tls-key');
  if (tlsCert !== undefined && 'path' in listen) throw usageError('--tls-cert is for TCP: a Unix socket needs no TLS');
}

function isLocal(address: ListenAddress): boolean {
  return 'path' in address || isLoopbackHost(address.host);
}

function tokenOf(file: string | undefined): { readonly token?: string } {
  if (file === undefined) return {};
  const token = readFile('--token-file', file).toString('utf8').trim();
  if (token.length < MIN_TOKEN_CHARACTERS)
    throw usageError(`the token in --token-file is ${describeHidden(token)}: it must have at least ${MIN_TOKEN_CHARACTERS}`);
  return { token };
}

function tlsOf({ tlsCert, tlsKey, tlsClientCa }: ServeOptions): TlsServerOptions | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const own = { cert: readFile('--tls-cert', tlsCert), key: readFile('--tls-key', tlsKey) };
  if (tlsClientCa === undefined) return own;
  return { ...own, ca: readFile('--tls-client-ca', tlsClientCa), requestCert: true, rejectUnauthorized: true };
}

function readFile(option: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    // Not the system's message, which quotes the path: the path may be a secret by mistake.
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw usageError(`the file of ${option} cannot be read: ${code}`);
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
