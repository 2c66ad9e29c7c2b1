import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { freePort } from '../../ports.ts';
import { startProxy, type Proxy } from '../../proxy.ts';
import { quickFolder } from '../../scratch.ts';
import { until } from '../../until.ts';
import { ServerProcess } from '../process.ts';
import type { ServerProcesses } from '../processes.ts';
import { startCluster, startServers, type Premises } from '../start.ts';
import type { VersionOptions } from '../types.ts';
import { postgresKind } from './kind.ts';
import { instancePlan, nameAt, setPrimary, urlOf } from './plan.ts';
import { postgresSource } from './source.ts';
import { isServing } from './status.ts';
import { templateOf } from './template.ts';
import type { PostgresCluster, PostgresOptions } from './types.ts';

export interface PostgresClusterOptions extends VersionOptions, Pick<PostgresOptions, 'settings'> {
  /** The number of servers, of which the first one begins as the primary. Default 2. */
  readonly size?: number;
  /**
   * 'synchronous': a commit waits until a standby server has written it to its disk.
   * 'asynchronous': a promotion may lose commits.
   */
  readonly standby: 'synchronous' | 'asynchronous';
}

const PROMOTION_MS = 30_000;

/**
 * Starts a primary and its standby servers for this process alone. Resolves when all serve and the
 * standby servers follow. Throws `StoreUnavailable` if PostgreSQL is not available.
 */
export async function startPostgresCluster({
  version = 'default',
  size = 2,
  standby,
  settings = {},
}: PostgresClusterOptions): Promise<PostgresCluster> {
  const source = await postgresSource(version);
  const template = source.programs === undefined ? undefined : await templateOf(source.programs);
  let gates: readonly Proxy[] = [];
  let folder = '';
  const begin = async (premises: Premises): Promise<readonly ServerProcess[]> => {
    ({ folder } = premises);
    return startServers(premises, async () => {
      const ports = await Promise.all(Array.from({ length: size }, freePort));
      gates = await Promise.all(ports.map((port) => startProxy(port)));
      for (const gate of gates) premises.resources.use(gate);
      const [primary] = gates;
      if (primary === undefined) throw new RangeError('a cluster has one server at least');
      await Promise.all(ports.slice(1).map((port) => setPrimary(premises.folder, port, primary.port)));
      return Promise.all(
        ports.map(async (port) => {
          const plan = { settings, folder, certificates: undefined, template, port };
          const instance = source.instance(await instancePlan(plan));
          return new ServerProcess({ url: urlOf(plan), instance, kind: postgresKind, auth: undefined, tls: undefined });
        }),
      );
    });
  };
  const cluster = await startCluster('postgres', begin, await quickFolder());
  try {
    const roles = new Roles({ cluster, gates, folder, isSynchronous: standby === 'synchronous' });
    await roles.begin();
    return Object.assign(cluster, {
      promote: (server = 1) => roles.promote(server),
      follow: (server: number) => roles.follow(server),
      inSync: (standbys = size - 1) => roles.inSync(standbys),
      cutOff: () => {
        for (const gate of gates) gate.blackhole();
      },
      heal: async () => {
        await Promise.all(gates.map((gate) => gate.heal()));
      },
    });
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

interface RolesOptions {
  readonly cluster: ServerProcesses;
  /** The ports at which the other servers reach each server. */
  readonly gates: readonly Proxy[];
  readonly folder: string;
  readonly isSynchronous: boolean;
}

/** Which server is the primary, and which ones follow it. */
class Roles {
  readonly #cluster: ServerProcesses;
  readonly #gates: readonly Proxy[];
  readonly #folder: string;
  readonly #isSynchronous: boolean;

  constructor({ cluster, gates, folder, isSynchronous }: RolesOptions) {
    this.#cluster = cluster;
    this.#gates = gates;
    this.#folder = folder;
    this.#isSynchronous = isSynchronous;
  }

  async begin(): Promise<void> {
    const standbys = this.#cluster.servers.length - 1;
    if (standbys > 0) await this.#synchronize(this.#at(0));
    await this.inSync(standbys);
  }

  async promote(index: number): Promise<void> {
    const server = this.#at(index);
    await server.exec('pg_ctl', ['promote', '-w', '-D', join(this.#folder, nameAt(portOf(server)))]);
    const leads = async (): Promise<boolean> => (await server.leadership()).leads;
    await until(leads, { what: `${server.url} to be a primary`, withinMs: PROMOTION_MS });
  }

  async follow(index: number): Promise<void> {
    const [server, leader] = [this.#at(index), await this.#cluster.leader()];
    const gate = this.#gates[leader];
    if (leader === index || gate === undefined) throw new Error(`${server.url} is the primary that it should follow`);
    await server.kill();
    await rm(join(this.#folder, nameAt(portOf(server))), { recursive: true, force: true, maxRetries: 5 });
    await setPrimary(this.#folder, portOf(server), gate.port);
    await server.restart();
    await this.#synchronize(this.#at(leader));
    await this.inSync(1);
  }

  async inSync(standbys: number): Promise<void> {
    const primary = this.#at(await this.#cluster.leader());
    const position = (await primary.ctl(['-c', 'select pg_current_wal_flush_lsn()'])).trim();
    const query = `select count(*) from pg_stat_replication where state = 'streaming'
      and (sync_state <> 'async') = ${this.#isSynchronous} and flush_lsn >= '${position}'`;
    const all = async (): Promise<boolean> => Number(await primary.ctl(['-c', query])) >= standbys;
    await until(all, { what: `${standbys} standby servers of ${primary.url}`, withinMs: PROMOTION_MS });
  }

  /** From now on commits wait for a standby server, if the cluster is synchronous. */
  async #synchronize(primary: ServerProcess): Promise<void> {
    if (!this.#isSynchronous) return;
    await primary.ctl(['-c', `alter system set synchronous_standby_names = '*'`]);
    await primary.ctl(['-c', 'select pg_reload_conf()']);
    await until(() => isServing(primary), { what: primary.url });
  }

  #at(index: number): ServerProcess {
    const server = this.#cluster.servers[index];
    if (server === undefined) throw new RangeError(`there is no server ${index}`);
    return server;
  }
}

function portOf({ url }: { readonly url: string }): string {
  return new URL(url).port;
}
