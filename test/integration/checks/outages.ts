/** Servers that are killed while members lead. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkHistory } from '@incumbent/conformance';
import { until, type Cluster, type Faults, type ScriptProcess } from '@incumbent/test-support';
import { historyOf, ms, now } from '../history.ts';
import type { Check } from './check.ts';
import type { ClusterHost, Host } from './hosts.ts';
import { ELECTION, freshNamespace, WAIT_MS, spawnMember, storeUrl, TTL_MS } from './pair.ts';

/** Members that exist through all runs of a check. */
export class Trio {
  /** The URLs of the store, one for each member in turn. */
  readonly #urls: readonly string[];
  readonly #ttlMs: number;
  readonly #all: { readonly id: string; readonly script: ScriptProcess; died?: number }[] = [];

  constructor(urls: readonly string[], ttlMs: number = TTL_MS) {
    this.#urls = urls;
    this.#ttlMs = ttlMs;
  }

  async start(): Promise<void> {
    while (this.#all.filter(({ died }) => died === undefined).length < 3) {
      const id = `m${this.#all.length}`;
      const url = this.#urls[this.#all.length % this.#urls.length];
      assert.ok(url !== undefined);
      this.#all.push({ id, script: await spawnMember(url, id, this.#ttlMs) });
    }
  }

  /** The moment and the term in which a member reported that it leads, not before `from`. */
  async leads(from: number, what: string): Promise<{ readonly at: number; readonly term: bigint }> {
    return until(
      () => {
        for (const { script, died } of this.#all) {
          if (died !== undefined) continue;
          const { event, fields } = script.events.at(-1) ?? {};
          const at = event === 'valid' ? ms(BigInt(String(fields?.['from']))) : 0;
          if (at >= from) return { at, term: BigInt(String(fields?.['term'])) };
        }
        return undefined;
      },
      { what, withinMs: WAIT_MS },
    );
  }

  /** When any member last reported that it leads, in ms. */
  lastValid(): number {
    const told = this.#all.map(({ script }) => script.events.findLast(({ event }) => event === 'valid'));
    return Math.max(...told.map((event) => (event === undefined ? -Infinity : ms(BigInt(String(event.fields['from']))))));
  }

  /** The longest time between two moments in which no member reported that it leads, in ms. */
  longestSilence(from: number, to: number): number {
    const validAt = this.#all
      .flatMap(({ script }) => script.events)
      .flatMap(({ event, fields }) => (event === 'valid' ? [ms(BigInt(String(fields['from'])))] : []))
      .filter((at) => at > from && at < to)
      .toSorted((a, b) => a - b);
    const moments = [from, ...validAt, to];
    return moments.slice(1).reduce((longest, at, i) => Math.max(longest, at - (moments[i] ?? at)), 0);
  }

  /** Kills the leader, so that the next term must be won on the servers as they are now. */
  async killLeader(): Promise<void> {
    const leader = this.#all.find(({ script, died }) => died === undefined && script.events.at(-1)?.event === 'valid');
    assert.ok(leader !== undefined, 'somebody leads');
    leader.script.sigkill();
    await leader.script.exited;
    leader.died = now();
  }

  check(): void {
    const events = this.#all.flatMap(({ id, script, died }) => [
      ...historyOf(script, id, ELECTION),
      ...(died === undefined ? [] : [{ type: 'died' as const, at: died, member: id }]),
    ]);
    assert.deepEqual(checkHistory(events, { unfinished: true }), []);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map(({ script }) => script[Symbol.asyncDispose]()));
  }
}

/**
 * One server is killed and restarted. Then the leader is killed, and a member must win the next
 * term.
 */
async function outage(trio: Trio, server: Faults, downMs: number): Promise<{ readonly recoveredMs: number; readonly nextMs: number }> {
  await trio.start();
  const before = await trio.leads(now(), 'a leader before the outage');
  await server.kill('SIGKILL');
  await sleep(downMs);
  await server.restart();
  const upAt = now();
  const after = await trio.leads(upAt, 'a leader after the outage');
  assert.ok(after.term >= before.term);
  await trio.killLeader();
  const killedAt = now();
  const next = await trio.leads(killedAt, 'a leader after the last one was killed');
  assert.ok(next.term > after.term, 'terms rise');
  trio.check();
  return { recoveredMs: after.at - upAt, nextMs: next.at - killedAt };
}

interface Outages<S> {
  readonly host: Host;
  readonly start: () => Promise<S>;
  /** The endpoints by which the members reach the servers. */
  readonly ways: (servers: S) => readonly (readonly string[])[];
  /** The server that fails in this run. */
  readonly pick: (servers: S, index: number) => Faults;
}

/** Opens a check whose members stay for all runs, while in each run a server fails. */
export function onTrio<S extends { stop(): Promise<void> }>({ host, start, ways, pick }: Outages<S>): Check['open'] {
  return async () => {
    const servers = await start();
    const namespace = freshNamespace();
    const trio = new Trio(ways(servers).map((endpoints) => storeUrl(endpoints, namespace, host.store)));
    return {
      run: async (index, { random }) => ({ figures: await outage(trio, pick(servers, index), random() * 2_000) }),
      [Symbol.asyncDispose]: async () => {
        await trio.stop();
        await servers.stop();
      },
    };
  };
}

/** How every outage is measured, for readers of the evidence. */
export const OUTAGE_METHOD =
  `Three processes, ttl ${TTL_MS} ms, that stay for all runs. In each run a server is killed with SIGKILL and restarted up to 2 s later; recovered: from the ` +
  'server being back to a member saying that it leads; then the leader is killed, and next: until another says so, in a higher term.';

export const serverKill = (host: Host): Check => ({
  name: `${host.prefix}server-kill`,
  claim: `When the ${host.store} server is killed (kill -9) and restarted, elections recover by themselves, and terms rise.`,
  method: OUTAGE_METHOD,
  runs: 20,
  parallel: 1,
  open: onTrio({ host, start: () => host.start(), ways: ({ endpoints }) => [endpoints], pick: (server) => server }),
});

export const clusterKill = <T extends Cluster>(host: ClusterHost<T>): Check => ({
  name: `${host.prefix}cluster-kill`,
  claim: `When each of three ${host.store} servers is killed (kill -9) and restarted in turn, elections recover by themselves, and terms rise.`,
  method: `${host.stage ?? ''}${OUTAGE_METHOD}`,
  runs: 20,
  parallel: 1,
  open: onTrio({
    host,
    start: () => host.startCluster(),
    ways: (cluster) => host.waysTo?.(cluster) ?? [cluster.endpoints],
    pick: ({ servers }, index) => servers[index % servers.length] ?? assert.fail(),
  }),
});
