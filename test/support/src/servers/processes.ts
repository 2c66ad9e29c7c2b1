import { until } from '../until.ts';
import type { Certificates } from './certificates.ts';
import type { ServerProcess } from './process.ts';
import type { Cluster, Credentials } from './types.ts';

const LEADER_MS = 10_000;

/** Servers of this process that form one cluster. */
export class ServerProcesses implements Cluster {
  readonly servers: readonly ServerProcess[];
  readonly endpoints: readonly string[];
  readonly url: string;
  readonly version: string;
  readonly auth?: Credentials;
  readonly tls?: Certificates;
  readonly #resources: AsyncDisposableStack;
  #stopped: Promise<void> | undefined;

  /** `resources` are the servers and everything that they use. {@link stop} disposes of them. */
  constructor(servers: readonly ServerProcess[], resources: AsyncDisposableStack) {
    const [first] = servers;
    if (first === undefined) throw new RangeError('a cluster has one server at least');
    this.#resources = resources;
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
    return until(() => this.#leaderNow(), { what: `a leader among ${this.endpoints.join(', ')}`, withinMs: LEADER_MS });
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#resources.disposeAsync();
    return this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * A server that was cut off or paused may still report that it leads. The higher term is right.
   */
  async #leaderNow(): Promise<number | undefined> {
    const answers = await Promise.all(this.servers.map((server) => server.leadership().catch(() => undefined)));
    const claims = answers.flatMap((answer, index) => (answer?.leads === true ? [{ index, term: answer.term }] : []));
    return claims.toSorted((a, b) => Number(b.term - a.term))[0]?.index;
  }
}
