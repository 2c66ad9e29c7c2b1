/** Two members on a real store, one of them through a proxy: the setup of most checks. */

import assert from 'node:assert/strict';
import { checkHistory, type HistoryEvent, type HistoryRules } from '@incumbent/conformance';
import { spawnScript, startProxy, type OwnServer, type Proxy, type ScriptEvent, type ScriptProcess } from '@incumbent/test-support';
import { historyOf, ms } from '../history.ts';
import { onServer, type Check, type CheckContext, type Figures } from './check.ts';
import type { Host } from './hosts.ts';
import { kubernetesUrl } from './kubernetes-host.ts';

export const TTL_MS = 5_000;
export const ELECTION = 'controller';
/** The longest wait of a check, in ms. */
export const WAIT_MS = 30_000;

const MEMBER = new URL('../member.ts', import.meta.url);
const MANY = new URL('../many.ts', import.meta.url);

let namespaces = 0;

/** A namespace that has not been used on this server. */
export function freshNamespace(): string {
  namespaces += 1;
  return `verify-${process.pid}-${namespaces}`;
}

/** The URL of a store, for the addresses of servers and proxies. */
export function storeUrl(endpoints: readonly string[], namespace: string, store: Host['store'] = 'etcd'): string {
  if (store === 'kubernetes') return kubernetesUrl(endpoints[0] ?? '', namespace);
  const hosts = endpoints.map((endpoint) => new URL(endpoint).host).join(',');
  // The user and the database that the tests' servers have.
  return store === 'postgres' ? `postgres://test@${hosts}/postgres?namespace=${namespace}` : `${store}://${hosts}/${namespace}`;
}

export interface MemberProcess {
  /** Whether its leases end with its process. */
  readonly reaper?: boolean;
  /** Whether it runs on the built packages. */
  readonly built?: boolean;
}

/** `stopMs`: how long its work takes to stop. */
export async function spawnMember(
  url: string,
  memberId: string,
  ttlMs: number = TTL_MS,
  stopMs = 20,
  { reaper = false, built = false }: MemberProcess = {},
): Promise<ScriptProcess> {
  const args = [url, memberId, String(ttlMs), ELECTION, String(stopMs), ...(reaper ? ['reaper'] : [])];
  const script = await spawnScript(MEMBER, { args, built });
  await script.waitFor('ready', { withinMs: WAIT_MS });
  return script;
}

interface Many {
  readonly ttlMs: number;
  readonly elections?: number;
  readonly memberId?: string;
}

/** A process of one member that leads, or waits in, so many elections. */
export function spawnMany(url: string, { ttlMs, elections = 1_000, memberId = 'many' }: Many): Promise<ScriptProcess> {
  return spawnScript(MANY, { args: [url, memberId, String(ttlMs), String(elections)] });
}

type PairParts = Pick<Pair, 'host' | 'server' | 'namespace' | 'proxy' | 'a' | 'b' | 'term'>;

export class Pair implements AsyncDisposable {
  readonly host: Host;
  readonly server: OwnServer;
  readonly namespace: string;
  /** The first leader. Its link passes through `proxy`. */
  readonly a: ScriptProcess;
  readonly b: ScriptProcess;
  readonly proxy: Proxy;
  /** The first term of `a`. */
  readonly term: bigint;

  private constructor({ host, server, namespace, proxy, a, b, term }: PairParts) {
    this.host = host;
    this.server = server;
    this.namespace = namespace;
    this.proxy = proxy;
    this.a = a;
    this.b = b;
    this.term = term;
  }

  /** `a` leads and `b` waits behind it. */
  static async open(host: Host, server: OwnServer): Promise<Pair> {
    const namespace = freshNamespace();
    const proxy = await startProxy(server.url);
    const a = await spawnMember(storeUrl([proxy.url], namespace, host.store), 'a');
    const term = termOf(await a.waitFor('elected', { withinMs: WAIT_MS }));
    const b = await spawnMember(storeUrl([server.url], namespace, host.store), 'b');
    const pair = new Pair({ host, server, namespace, proxy, a, b, term });
    await pair.queued('b');
    return pair;
  }

  /** The absolute key, as an operator sees it. */
  key(relative: string): string {
    return `${this.namespace}/${relative}`;
  }

  async queued(memberId: string): Promise<void> {
    const prefix = this.key(`elections/${ELECTION}/candidates/${memberId}~`);
    for (let tries = 0; tries < 200; tries += 1) {
      if (await this.host.hasKey(this.server, prefix)) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error(`${memberId} has not joined the queue`);
  }

  events(): readonly HistoryEvent[] {
    return [...historyOf(this.a, 'a', ELECTION), ...historyOf(this.b, 'b', ELECTION)];
  }

  /** Shuts both down and checks everything that they reported. */
  async finish(rules: HistoryRules = {}): Promise<void> {
    await this.proxy.heal();
    for (const member of [this.a, this.b]) {
      member.sigcont();
      member.sigterm();
    }
    await Promise.all([this.a.waitFor('closed', { withinMs: WAIT_MS }), this.b.waitFor('closed', { withinMs: WAIT_MS })]);
    await Promise.all([this.a.exited, this.b.exited]);
    assert.deepEqual(checkHistory(this.events(), rules), []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.a[Symbol.asyncDispose](), this.b[Symbol.asyncDispose](), this.proxy.close()]);
  }
}

/**
 * Opens a check each of whose runs has a pair of its own, on one server. What the pair told is
 * checked after each run.
 */
export function onPair(host: Host, run: (pair: Pair, context: CheckContext) => Promise<Figures>): Check['open'] {
  return onServer(
    () => host.start(),
    async (server, context) => {
      await using pair = await Pair.open(host, server);
      const figures = await run(pair, context);
      await pair.finish();
      return { figures };
    },
  );
}

/** When this member last reported that it leads in this term, in ms. */
export function lastValid(script: ScriptProcess, term: bigint): number {
  const valid = script.events.filter(({ event, fields }) => event === 'valid' && fields['term'] === String(term));
  const last = valid.at(-1);
  return last === undefined ? -Infinity : ms(BigInt(String(last.fields['from'])));
}

export function at(event: ScriptEvent): number {
  return ms(event.at);
}

export function termOf(event: ScriptEvent): bigint {
  return BigInt(String(event.fields['term']));
}
