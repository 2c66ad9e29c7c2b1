/** The stores of `docker/`, started as the README says. */

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { buildImage, composeImages, outcomeOf, until, useEngine, type Outcome, type UsedEngine } from '@incumbent/test-support';
import { compose, composeServices, type ComposeService } from '../compose.ts';
import { now } from '../history.ts';
import type { Check, Figures } from './check.ts';

const ROOT: URL = new URL('../../../', import.meta.url);
const NODE = [process.execPath, '--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning'];
const UP_MS = 120_000;
const PROGRAM_MS = 240_000;
/** How long a cluster may take to recover from the loss of a server, in ms. */
const GETS_OVER_MS = 30_000;

const services = composeServices();

/** A project name of its own, so that the check does not touch the user's containers. */
const PROJECT = ['--project-name', `incumbent-verify-${process.pid}`];

class Stand {
  readonly #used: UsedEngine;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(used: UsedEngine, env: Readonly<Record<string, string>>) {
    this.#used = used;
    this.#env = env;
  }

  /** Uses images of Debian's packages instead of the published ones. */
  static async open(): Promise<Stand> {
    const used = await useEngine({ network: 'own' });
    const env: Record<string, string> = {};
    for (const { recipe, setting } of Object.values(composeImages)) env[setting] = await buildImage(used.engine, recipe);
    return new Stand(used, env);
  }

  /** Starts the service as the README says, uses it, and stops it. */
  async run(service: ComposeService): Promise<Figures> {
    const startedAt = now();
    try {
      await this.#compose([...service.start, '--detach', '--wait']);
      const healthyMs = now() - startedAt;
      const demoMs = await this.#use(service);
      if (!service.isCluster) return { healthyMs, demoMs };
      const killedAt = now();
      await this.#compose(['kill', `${service.store}-1`]);
      if (service.store === 'postgres') await this.#promote();
      const url = urlAfterKill(service);
      await until(() => this.#quickstartAnswers(url), { what: `${url} after a server was killed`, withinMs: GETS_OVER_MS, everyMs: 200 });
      const servesAgainMs = now() - killedAt;
      return { healthyMs, demoMs, servesAgainMs, demoAfterKillMs: await this.#use({ ...service, url }) };
    } finally {
      await this.#compose(['--profile', '*', 'down', '--volumes', '--timeout', '1']);
    }
  }

  /** Makes the standby that has received more of the primary's log the primary. */
  async #promote(): Promise<void> {
    const standbys = ['postgres-2', 'postgres-3'];
    const sql = `select pg_last_wal_receive_lsn() - '0/0'`;
    const query = ['psql', '-h', '127.0.0.1', '-U', 'postgres', '-Atc', sql];
    const received = await Promise.all(standbys.map(async (standby) => Number(await this.#compose(['exec', '-T', standby, ...query]))));
    const [ahead = assert.fail()] = standbys.slice(received.indexOf(Math.max(...received)));
    await this.#compose(['exec', '-T', ahead, 'pg_ctl', 'promote']);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#used[Symbol.asyncDispose]();
  }

  /** Runs the README's two programs. Returns the duration of the demo. */
  async #use({ store, url }: ComposeService): Promise<number> {
    const quickstart = await this.#example('quickstart', [url]);
    // The quickstart rejects a store that is not linearizable.
    if (store === 'redis' || store === 'valkey') assert.match(quickstart.output, /acceptWeakStore/);
    else assert.match(quickstart.output, /leads in term \d+\n/);
    const startedAt = now();
    const demo = await this.#example('kafka-controller', ['--store', url]);
    assert.ok(demo.status === 0 && demo.output.includes('Every promise held.'), `status ${demo.status}: ${demo.output}`);
    return now() - startedAt;
  }

  /** Whether the store answers calls. A rejection of a weak store is also an answer. */
  async #quickstartAnswers(url: string): Promise<boolean> {
    return /leads in term|acceptWeakStore/.test((await this.#example('quickstart', [url])).output);
  }

  #example(name: string, args: readonly string[]): Promise<Outcome> {
    const script = fileURLToPath(new URL(`examples/${name}/index.ts`, ROOT));
    return outcomeOf(this.#used.within([...NODE, script, ...args]), { timeoutMs: PROGRAM_MS, env: { NO_COLOR: '1' } });
  }

  #compose(args: readonly string[]): Promise<string> {
    return compose([...PROJECT, ...args], { env: this.#env, timeoutMs: UP_MS });
  }
}

/** The URL names one Consul agent, which was killed. Any other agent works, too. */
function urlAfterKill({ store, url }: ComposeService): string {
  return store === 'consul' ? url.replace('8511', '8512') : url;
}

export const composeCheck: Check = {
  name: 'compose',
  claim:
    'Every store of docker/ starts, alone and as a cluster of three, and the README’s programs work on it; on a cluster also after a server was killed.',
  method:
    'docker compose with the words and the URL of docker/README.md, with images of Debian’s packages; an engine that answers, or one that is started for it, with a network of its own. A run is a row of that table. ' +
    'healthy: until all of its servers are; demo: a run of `pnpm demo`, every promise held; `pnpm quickstart` works as well (and is refused on Redis and Valkey, as it does not accept a weak store). Of a cluster the first server, ' +
    'of Redis and PostgreSQL the primary, is killed then, and of PostgreSQL the standby that has received more is promoted; servesAgain: until the store takes calls again.',
  runs: services.length,
  parallel: 1,
  open: async () => {
    const stand = await Stand.open();
    return {
      run: async (index) => ({ figures: await stand.run(services[index % services.length] ?? assert.fail()) }),
      [Symbol.asyncDispose]: () => stand[Symbol.asyncDispose](),
    };
  },
};
