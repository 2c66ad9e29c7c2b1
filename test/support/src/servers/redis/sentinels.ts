/** A primary, its replicas, and the Sentinels that replace it. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { freePort, LOOPBACK } from '../../ports.ts';
import { until } from '../../until.ts';
import { makeCertificates } from '../certificates.ts';
import type { InstancePlan } from '../instance.ts';
import type { ServerKind } from '../kind.ts';
import { ServerProcess } from '../process.ts';
import type { ServerProcesses } from '../processes.ts';
import { startCluster, startServers } from '../start.ts';
import type { ClusterServer, Credentials } from '../types.ts';
import { redisKind, sentinelKind } from './kind.ts';
import { authFlags, instancePlan, portFlags, type ServerPlan, urlOf } from './plan.ts';
import { redisSource } from './source.ts';
import type { RedisOptions } from './types.ts';

export interface SentinelsOptions extends RedisOptions {
  /** The only user of the Sentinels. `auth` is the user of the servers. Default: no login. */
  readonly sentinelAuth?: Credentials;
}

/** A primary with two replicas, and the three Sentinels that watch it. */
export interface RedisSentinels extends AsyncDisposable {
  /** The name that the Sentinels have for the primary. */
  readonly master: string;
  /** The primary at first, then the replicas. */
  readonly servers: readonly ClusterServer[];
  readonly sentinels: readonly ClusterServer[];
  /** The server that the first Sentinel that answers names. */
  primary(): Promise<ClusterServer>;
  /** Resolves when all Sentinels that answer know two usable replicas and one another. */
  settled(): Promise<void>;
  /** Stops everything and removes all data. Idempotent. */
  stop(): Promise<void>;
}

const MASTER = 'mymaster';
const QUORUM = 2;
const SIZE = 3;
const SETTLED_MS = 60_000;

/** How long a server is silent before a Sentinel considers it as down, in ms. */
const DOWN_AFTER_MS = 1_000;
/** The Sentinels try no second failover within twice this time, in ms. */
const FAILOVER_TIMEOUT_MS = 3_000;

/**
 * Starts a primary, two replicas and three Sentinels for this process alone. Resolves when the
 * Sentinels could replace the primary. Throws `StoreUnavailable` if Redis is not available.
 */
export async function startSentinels({ version = 'default', sentinelAuth, ...options }: SentinelsOptions = {}): Promise<RedisSentinels> {
  const source = await redisSource(version);
  const all = await startCluster('redis-sentinels', async (premises) => {
    const { folder } = premises;
    const certificates = options.tls === undefined ? undefined : await makeCertificates(folder, 'client');
    const startThree = (kind: ServerKind, auth: Credentials | undefined, planOf: (plan: ServerPlan) => Promise<InstancePlan>) =>
      startServers(premises, () =>
        Promise.all(
          Array.from({ length: SIZE }, async () => {
            const plan = { ...options, folder, certificates, port: await freePort() };
            return new ServerProcess({ url: urlOf(plan), instance: source.instance(await planOf(plan)), kind, auth, tls: certificates });
          }),
        ),
      );
    const servers = await startThree(redisKind, options.auth, (plan) => instancePlan(replicating(plan)));
    const port = portOf(servers[0]);
    for (const replica of servers.slice(1)) await replica.ctl(['replicaof', LOOPBACK, String(port)]);
    const sentinels = await startThree(sentinelKind, sentinelAuth, (plan) => sentinelPlan(plan, port, sentinelAuth));
    return [...servers, ...sentinels];
  });
  const group = new SentinelGroup(all);
  try {
    await group.settled();
  } catch (error) {
    await group.stop();
    throw error;
  }
  return group;
}

function portOf(server: ClusterServer | undefined): number {
  return Number(new URL(server?.url ?? '').port);
}

function replicating({ flags = [], auth, ...plan }: ServerPlan): ServerPlan {
  const login = auth === undefined ? [] : ['--masteruser', auth.user, '--masterauth', auth.password];
  const own = ['--repl-diskless-sync-delay', '0', ...(plan.tls === undefined ? [] : ['--tls-replication', 'yes']), ...login];
  return { ...plan, ...(auth === undefined ? {} : { auth }), flags: [...own, ...flags] };
}

async function sentinelPlan(plan: ServerPlan, primaryPort: number, auth: Credentials | undefined): Promise<InstancePlan> {
  const { folder, port } = plan;
  const name = `sentinel-${port}`;
  const data = join(folder, name);
  await mkdir(data);
  const file = join(data, 'sentinel.conf');
  const flags = [
    '--bind',
    LOOPBACK,
    ...portFlags(plan),
    ...(plan.tls === undefined ? [] : ['--tls-replication', 'yes']),
    ...(auth === undefined ? [] : authFlags({ auth })),
  ];
  const config = [
    // The same settings as flags on a command line; a Sentinel rewrites its file.
    ...flags.join(' ').split(/(?:^| )--/),
    `dir ${data}`,
    `sentinel monitor ${MASTER} ${LOOPBACK} ${primaryPort} ${QUORUM}`,
    `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${MASTER} ${FAILOVER_TIMEOUT_MS}`,
    ...(plan.auth === undefined
      ? []
      : [`sentinel auth-user ${MASTER} ${plan.auth.user}`, `sentinel auth-pass ${MASTER} ${plan.auth.password}`]),
    ...(auth === undefined ? [] : [`sentinel sentinel-user ${auth.user}`, `sentinel sentinel-pass ${auth.password}`]),
  ];
  await writeFile(file, `${config.join('\n')}\n`);
  return { program: 'redis-server', name, folder, args: [file, '--sentinel'] };
}

class SentinelGroup implements RedisSentinels {
  readonly master = MASTER;
  readonly servers: readonly ServerProcess[];
  readonly sentinels: readonly ServerProcess[];
  readonly #all: ServerProcesses;

  constructor(all: ServerProcesses) {
    this.servers = all.servers.slice(0, SIZE);
    this.sentinels = all.servers.slice(SIZE);
    this.#all = all;
  }

  async primary(): Promise<ClusterServer> {
    const [host, port] = (await this.#ask('get-master-addr-by-name')).trim().split('\n');
    const found = this.servers.find(({ url }) => new URL(url).host === `${host}:${port}`);
    if (found === undefined) throw new Error(`the Sentinels name ${host}:${port}, which is none of the servers`);
    return found;
  }

  async settled(): Promise<void> {
    const isSettled = async (sentinel: ServerProcess): Promise<boolean> => {
      const [quorum, replicas, primary] = await Promise.all(
        ['ckquorum', 'replicas', 'master'].map((what) => sentinel.ctl(['sentinel', what, MASTER]).catch(String)),
      );
      const usable = replicas?.match(/^flags\nslave$/gm)?.length ?? 0;
      const online = replicas?.match(/^master-link-status\nok$/gm)?.length ?? 0;
      return (
        (quorum ?? '').startsWith('OK 3 usable') && usable === SIZE - 1 && online === SIZE - 1 && /^flags\nmaster$/m.test(primary ?? '')
      );
    };
    for (const sentinel of this.sentinels)
      await until(() => isSettled(sentinel), { what: `the Sentinel at ${sentinel.url} knows all servers`, withinMs: SETTLED_MS });
  }

  stop(): Promise<void> {
    return this.#all.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #ask(what: string): Promise<string> {
    for (const sentinel of this.sentinels) {
      const answer = await sentinel.ctl(['sentinel', what, MASTER]).catch(() => undefined);
      if (answer !== undefined) return answer;
    }
    throw new Error('no Sentinel answers');
  }
}
