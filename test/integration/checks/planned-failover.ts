/** The Sentinels replace a Redis primary that is well, as an operator asks them to. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkHistory } from '@incumbent/conformance';
import { openStore, type Store } from 'incumbent';
import { startSentinels, until, type RedisSentinels } from '@incumbent/test-support';
import { historyOf, now } from '../history.ts';
import { onServer, type Check, type CheckContext, type Figures } from './check.ts';
import { assertNothingLost } from './onlooker.ts';
import { ELECTION, freshNamespace, spawnMember, WAIT_MS } from './pair.ts';

const DEFAULT_TTL_MS = 10_000;
const WRITE_EVERY_MS = 50;
const CALL_MS = 5_000;
/** From the first Sentinel that names the new primary to the last write at the old one. */
const STAYED_MS = 5_000;
const COUNTER = 'counter';

/**
 * Counts in one key of the store, and notices when the store has forgotten some of the counting.
 */
class Counter implements AsyncDisposable {
  readonly #store: Store;
  readonly #over = new AbortController();
  readonly #counting: Promise<void>;
  #count = 0;
  /** When the last write was acknowledged that the store still had. */
  #acknowledgedAt = now();
  /** When the last write was acknowledged that the store has forgotten. */
  lostUntil: number | undefined;
  lostWrites = 0;

  /** Takes ownership of the store. */
  constructor(store: Store) {
    this.#store = store;
    this.#counting = this.#run();
  }

  get count(): number {
    return this.#count;
  }

  async #run(): Promise<void> {
    while (!this.#over.signal.aborted) {
      await this.#countOne().catch(() => {});
      await sleep(WRITE_EVERY_MS);
    }
  }

  async #countOne(): Promise<void> {
    const call = { timeoutMs: CALL_MS, signal: this.#over.signal };
    const there = await this.#store.read(COUNTER, call);
    const count = there === undefined ? 0 : Number(Buffer.from(there.value).toString());
    if (count < this.#count) {
      this.lostWrites += this.#count - count;
      this.lostUntil = this.#acknowledgedAt;
    }
    this.#count = count;
    const put = Buffer.from(String(count + 1));
    const { swapped } = await this.#store.compareAndSwap([{ key: COUNTER, expect: there?.revision ?? null, put }], call);
    if (!swapped) return;
    this.#count = count + 1;
    this.#acknowledgedAt = now();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#counting;
    await this.#store.close();
  }
}

async function oneRun(group: RedisSentinels, { random, isTimed }: CheckContext): Promise<Figures> {
  const namespace = freshNamespace();
  const hosts = group.sentinels.map(({ url }) => new URL(url).host);
  const url = `redis+sentinel://${hosts.join(',')}/${namespace}?master=${group.master}`;
  await group.settled();
  const old = await group.primary();
  const replicas = group.servers.filter((server) => server.url !== old.url);
  await using counter = new Counter(await openStore(url));
  await using a = await spawnMember(url, 'a', DEFAULT_TTL_MS);
  await a.waitFor('elected', { withinMs: WAIT_MS });
  await using b = await spawnMember(url, 'b', DEFAULT_TTL_MS);
  const haveQueue = async (): Promise<boolean> => {
    const key = `{${namespace}}:index:elections/${ELECTION}/candidates`;
    const sizes = await Promise.all(replicas.map((replica) => replica.ctl(['zcard', key])));
    return sizes.every((size) => size.trim() === '2');
  };
  await until(haveQueue, { what: 'the replicas have both candidates', withinMs: WAIT_MS });
  await sleep((random() * DEFAULT_TTL_MS) / 3);

  const sentinel = group.sentinels[Math.floor(random() * group.sentinels.length)];
  assert.ok(sentinel !== undefined);
  // It refuses for a while after another failover.
  const isAccepted = (): Promise<boolean> =>
    sentinel.ctl(['sentinel', 'failover', group.master]).then(
      () => true,
      () => false,
    );
  await until(isAccepted, { what: 'the Sentinel accepts', withinMs: WAIT_MS });
  const startAt = now();
  const named = async (): Promise<string> => sentinel.ctl(['sentinel', 'get-master-addr-by-name', group.master]);
  const oldPort = new URL(old.url).port;
  await until(async () => !(await named()).includes(oldPort), { what: 'the Sentinel names the new primary', withinMs: WAIT_MS });
  const namedAt = now();
  const isDemoted = async (): Promise<boolean> => (await old.ctl(['info', 'replication'])).includes('role:slave');
  await until(isDemoted, { what: 'the old primary is a replica', withinMs: WAIT_MS });
  const demotedMs = now() - namedAt;
  const primary = await group.primary();
  const counted = async (): Promise<number> => Number((await primary.ctl(['hget', `{${namespace}}/${COUNTER}`, 'v'])).trim());
  const before = await counted();
  await until(async () => (await counted()) > before, { what: 'the store writes at the new primary', withinMs: WAIT_MS });

  // As long as the leader's lease may live on without a renewal.
  await sleep(DEFAULT_TTL_MS);
  assertNothingLost(a, b);
  const stayedMs = counter.lostUntil === undefined ? 0 : Math.max(counter.lostUntil - namedAt, 0);
  if (isTimed) assert.ok(stayedMs <= STAYED_MS, `the store wrote at the old primary for ${stayedMs} ms`);
  a.sigterm();
  await a.waitFor('closed', { withinMs: WAIT_MS });
  await b.waitFor('elected', { withinMs: WAIT_MS });
  b.sigterm();
  await b.waitFor('closed', { withinMs: WAIT_MS });
  assert.deepEqual(checkHistory([...historyOf(a, 'a', ELECTION), ...historyOf(b, 'b', ELECTION)], {}), []);
  return { promotionMs: namedAt - startAt, stayedMs, demotedMs, lostWrites: counter.lostWrites };
}

export const redisPlannedFailover: Check = {
  name: 'redis-planned-failover',
  claim:
    'In a failover that an operator asks the Sentinels for, no leadership is lost, the next term is higher, and the store writes at the old primary for at most 5 s after a Sentinel names the new one.',
  method:
    `A primary, two replicas and three Sentinels; two processes, all timing by default (ttl ${DEFAULT_TTL_MS} ms); one leads. A third one adds one to a counter every ${WRITE_EVERY_MS} ms. At a random phase, ` +
    'SENTINEL FAILOVER at one of the Sentinels. promotion: from the command until it names the new primary. stayed: from then until the last acknowledged write that the new primary does not have. demoted: from then until the old ' +
    `primary is a replica, as the Sentinels make it. lostWrites: the acknowledged writes that are gone. Watched for ${DEFAULT_TTL_MS / 1_000} s more: the leadership is not lost. Then the leader shuts down, and the other one leads.`,
  runs: 20,
  parallel: 1,
  open: onServer(startSentinels, async (group, context) => ({ figures: await oneRun(group, context) })),
};
