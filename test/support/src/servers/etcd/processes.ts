import type { Scratch } from '../../scratch.ts';
import { until } from '../../until.ts';
import type { Certificates } from '../certificates.ts';
import type { EtcdProcess } from './process.ts';
import { removeAll } from './start.ts';
import { leadershipOf } from './status.ts';
import type { Credentials, EtcdCluster } from './types.ts';

const LEADER_MS = 10_000;

/** Servers of ours that form one cluster. */
export class EtcdProcesses implements EtcdCluster {
  readonly servers: readonly EtcdProcess[];
  readonly endpoints: readonly string[];
  readonly url: string;
  readonly version: string;
  readonly auth?: Credentials;
  readonly tls?: Certificates;
  readonly #scratch: Scratch;

  constructor(servers: readonly EtcdProcess[], scratch: Scratch) {
    const [first] = servers;
    if (first === undefined) throw new RangeError('a cluster has one server at least');
    this.#scratch = scratch;
    this.servers = servers;
    this.endpoints = servers.map(({ url }) => url);
    this.url = first.url;
    this.version = first.version;
    if (first.auth !== undefined) this.auth = first.auth;
    if (first.tls !== undefined) this.tls = first.tls;
  }

  async ctl(args: readonly string[]): Promise<string> {
    for (const server of this.servers) if (await server.canCtl()) return server.ctlAt(this.endpoints, args);
    throw new Error('no server of the cluster runs');
  }

  async leader(): Promise<number> {
    return until(() => this.#leaderNow(), { what: `a leader of etcd among ${this.endpoints.join(', ')}`, withinMs: LEADER_MS });
  }

  async stop(): Promise<void> {
    await removeAll(this.servers);
    await this.#scratch.remove();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** One that was cut off or paused may still think that it leads: the higher term is right. */
  async #leaderNow(): Promise<number | undefined> {
    const answers = await Promise.all(this.servers.map((server) => leadershipOf(server).catch(() => undefined)));
    const claims = answers.flatMap((answer, index) => (answer?.leads === true ? [{ index, term: answer.term }] : []));
    return claims.toSorted((a, b) => Number(b.term - a.term))[0]?.index;
  }
}
