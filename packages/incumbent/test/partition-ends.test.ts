/** How works end their partitions, and how a member ends its part in them. */

import { TestCluster } from '@incumbent/memory';
import { expectNothingLeft } from '@incumbent/test-support/nothing-left';
import { describe, expect, it } from 'vitest';

import {
  Fence,
  Member,
  PartitionedElection,
  type PartitionLeadership,
  type PartitionLeadOptions,
  sleep,
  StoreError,
} from '../src/index.ts';
import { assignPartitions } from '../src/partitions/assignment.ts';

const SETTLED_MS = 6_000;

/** A process that takes part in these partitions. */
function take(
  cluster: TestCluster,
  id: string,
  partitions: number,
  work: (leadership: PartitionLeadership) => unknown = ({ ended }) => ended,
  options: PartitionLeadOptions = {},
): { readonly member: Member; readonly election: PartitionedElection; readonly leading: Promise<void> } {
  const { store, options: process } = cluster.process(id);
  const member = new Member(store, { ...process, ttlMs: 6_000 });
  const election = new PartitionedElection(member, 'orders', { partitions, clock: process.clock });
  return { member, election, leading: election.lead(work, options) };
}

/** Processes that join the group of the members, and do not campaign. */
async function join(cluster: TestCluster, ids: readonly string[]): Promise<readonly Member[]> {
  const members = ids.map((id) => {
    const { store, options } = cluster.process(id);
    return new Member(store, { ...options, ttlMs: 6_000 });
  });
  await cluster.run(Promise.all(members.map((member) => member.group('orders.members', { value: { partitions: 12 } }).join())));
  return members;
}

/** What a test does with `a`, which leads a partition that `b` shall lead and `c` waits for. */
interface Moving {
  /** Lets `failing` run in the work of `a`, and waits. */
  fail(): Promise<void>;
  /** Who waits for the partition. */
  queue(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** `b` joins the group and does not campaign, so the partition stays with `a`. */
async function besideOneThatDoesNotCampaign(failing: (leadership: PartitionLeadership) => void): Promise<Moving> {
  const cluster = new TestCluster();
  const [three, two] = [
    ['a', 'b', 'c'],
    ['a', 'c'],
  ].map((ids) =>
    assignPartitions(
      'orders',
      ids.map((memberId) => ({ memberId, partitions: 12 })),
    ),
  );
  const moves = (partition: number): boolean =>
    two?.[partition]?.preferred === 'a' && three?.[partition]?.preferred === 'b' && three[partition].successor === 'c';
  const moving = Array.from({ length: 12 }, (_, partition) => partition).find(moves);
  const fails = Promise.withResolvers<void>();
  const a = take(cluster, 'a', 12, async (leadership) => {
    if (leadership.partition === moving) await fails.promise.then(() => failing(leadership));
    else await leadership.ended;
  });
  const c = take(cluster, 'c', 12);
  await cluster.advance(SETTLED_MS);
  expect(a.election.leaderships.map(({ partition }) => partition)).toContain(moving);
  const others = await join(cluster, ['b']);
  await cluster.advance(SETTLED_MS);
  return {
    async fail() {
      fails.resolve();
      await cluster.advance(2_000);
    },
    async queue() {
      const queue = await cluster.run(a.member.election(`orders.${moving}`).candidates());
      return queue.map(({ memberId }) => memberId);
    },
    async close() {
      await cluster.run(Promise.all([a.member, c.member, ...others].map((member) => member.close())));
      await Promise.all([a.leading, c.leading]);
      expectNothingLeft(cluster);
    },
  };
}

describe('partitions', () => {
  it('are not campaigned for again by a member that shall not lead them, after its work has failed', async () => {
    const scene = await besideOneThatDoesNotCampaign(() => {
      throw new StoreError('UNREACHABLE', 'notSent', 'no database answers');
    });
    await scene.fail();
    expect(await scene.queue()).toEqual(['c']);
    await scene.close();
  });

  it('are led again by a member whose work resigned them, not more often than every second', async () => {
    const cluster = new TestCluster();
    let resigned = 0;
    const { member, election, leading } = take(cluster, 'a', 2, async (leadership) => {
      if (leadership.partition === 1 || resigned === 5) return;
      resigned += 1;
      await leadership.resign();
    });
    await cluster.advance(2_500);
    expect(resigned).toBe(3);
    await cluster.advance(4_000);
    expect(resigned).toBe(5);
    expect(election.leaderships.map(({ partition }) => partition)).toEqual([0, 1]);
    await cluster.run(member.close());
    await leading;
    expectNothingLeft(cluster);
  });

  it('are resigned by their work without waiting for that work', async () => {
    const cluster = new TestCluster();
    const took: number[] = [];
    const { member, leading } = take(cluster, 'a', 1, async (leadership) => {
      await sleep(cluster.clock, 10);
      const beganMs = cluster.clock.monotonic();
      await leadership.resign();
      took.push(cluster.clock.monotonic() - beganMs);
    });
    await cluster.advance(500);
    expect(took).toEqual([0]);
    await cluster.run(member.close());
    await leading;
    expectNothingLeft(cluster);
  });

  it.each(['close', 'abort'] as const)('do not delay the %s after their work has resigned', async (how) => {
    const cluster = new TestCluster();
    const abort = new AbortController();
    const { member, leading } = take(cluster, 'a', 1, (leadership) => leadership.resign(), { signal: abort.signal });
    leading.catch(() => {});
    await cluster.advance(100);
    if (how === 'abort') abort.abort();
    await cluster.run(how === 'abort' ? leading.catch(() => {}) : member.close());
    await cluster.run(Promise.allSettled([leading, member.close()]));
    expect(cluster.clock.monotonic()).toBeLessThan(1_000);
    expectNothingLeft(cluster);
  });

  it('let `lead` resolve after the member has closed, also one that leads none and waits for none', async () => {
    const cluster = new TestCluster();
    const all = ['a', 'b', 'c'].map((id) => take(cluster, id, 1));
    await cluster.advance(SETTLED_MS);
    for (const { member, leading } of all) {
      const isLeft = leading.then(() => cluster.server.keys().filter((key) => key.endsWith(`/${member.memberId}`)));
      await cluster.run(member.shutdown());
      expect(await isLeft).toEqual([]);
    }
    expectNothingLeft(cluster);
  });

  it('let `lead` reject when its signal aborts, also for a member that leads none and waits for none', async () => {
    const cluster = new TestCluster();
    const others = ['a', 'b'].map((id) => take(cluster, id, 1));
    await cluster.advance(SETTLED_MS);
    const abort = new AbortController();
    const { member, leading } = take(cluster, 'c', 1, undefined, { signal: abort.signal });
    leading.catch(() => {});
    await cluster.advance(100);
    abort.abort(new Error('enough'));
    await expect(cluster.run(leading)).rejects.toThrow('enough');
    await cluster.run(Promise.all([member, ...others.map((other) => other.member)].map((each) => each.close())));
    expectNothingLeft(cluster);
  });

  it('let `lead` reject, and lead nothing, if somebody leaves the group for this member while it joins', async () => {
    const cluster = new TestCluster();
    const { member, leading } = take(cluster, 'a', 1);
    leading.catch(() => {});
    await cluster.run(member.group('orders.members').leave());
    await expect(cluster.run(leading)).rejects.toMatchObject({ code: 'MEMBER_CLOSED', message: /has left the group/ });
    expect(await cluster.run(member.election('orders.0').candidates())).toEqual([]);
    await cluster.run(member.close());
    expectNothingLeft(cluster);
  });

  it('are not campaigned for again by a member that shall not lead them, after a fence has refused its term', async () => {
    const scene = await besideOneThatDoesNotCampaign(({ term }) => {
      const fence = new Fence();
      fence.admit(term + 5n);
      fence.admit(term);
    });
    await scene.fail();
    expect(await scene.queue()).toEqual(['c']);
    await scene.close();
  });

  it('are handed over by their work without waiting for that work, although they were about to move', async () => {
    const cluster = new TestCluster();
    const took: number[] = [];
    const hands = Promise.withResolvers<void>();
    const other = cluster.process('z');
    const waiting = new Member(other.store, { ...other.options, ttlMs: 6_000 });
    const { member, leading } = take(cluster, 'a', 12, async (leadership) => {
      if (leadership.partition === 0) {
        await hands.promise;
        const beganMs = cluster.clock.monotonic();
        await leadership.handover('z');
        took.push(cluster.clock.monotonic() - beganMs);
      } else await leadership.ended;
    });
    await cluster.advance(100);
    const others = await join(cluster, ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']);
    await cluster.advance(SETTLED_MS);
    void waiting
      .election('orders.0')
      .campaign()
      .catch(() => {});
    await cluster.advance(200);
    hands.resolve();
    await cluster.advance(900);
    expect(took).toEqual([0]);
    await cluster.run(Promise.all([member, waiting, ...others].map((each) => each.close())));
    await leading;
    expectNothingLeft(cluster);
  });

  it('are resigned by their work without waiting for that work, although they were about to move', async () => {
    const cluster = new TestCluster();
    const took: number[] = [];
    const resigns = Promise.withResolvers<void>();
    const { member, leading } = take(cluster, 'a', 12, async (leadership) => {
      await resigns.promise;
      const beganMs = cluster.clock.monotonic();
      await leadership.resign();
      took.push(cluster.clock.monotonic() - beganMs);
    });
    await cluster.advance(100);
    const others = await join(cluster, ['b', 'c', 'd']);
    await cluster.advance(SETTLED_MS);
    resigns.resolve();
    await cluster.advance(900);
    expect(took).toEqual(Array.from({ length: 12 }, () => 0));
    await cluster.run(Promise.all([member, ...others].map((each) => each.close())));
    await leading;
    expectNothingLeft(cluster);
  });

  it('begin without a wait in each call of `lead`, although the list of members shows this member late', async () => {
    const cluster = new TestCluster();
    const { store } = cluster.process('a');
    const watchList = store.watchList.bind(store);
    store.watchList = (prefix, watchOptions) => late(watchList(prefix, watchOptions), prefix.startsWith('groups/') ? 50 : 0);
    async function* late<T>(states: AsyncIterable<T>, ms: number): AsyncIterable<T> {
      for await (const state of states) {
        if (ms > 0) await sleep(cluster.clock, ms);
        yield state;
      }
    }
    const abort = new AbortController();
    const { member, election, leading } = take(cluster, 'a', 12, undefined, { signal: abort.signal });
    leading.catch(() => {});
    await cluster.advance(500);
    expect(election.leaderships).toHaveLength(12);
    abort.abort();
    await cluster.run(leading.catch(() => {}));
    await cluster.advance(200);
    const again = election.lead(({ ended }) => ended);
    await cluster.advance(500);
    expect(election.leaderships).toHaveLength(12);
    await cluster.run(member.close());
    await again;
    expectNothingLeft(cluster);
  });

  it('end with the error of a work whose partition is about to move', async () => {
    const cluster = new TestCluster();
    const failed = new Error('no paper');
    const throws = Promise.withResolvers<never>();
    const { member, election, leading } = take(cluster, 'a', 12, ({ ended, partition }) => (partition === 0 ? throws.promise : ended));
    leading.catch(() => {});
    await cluster.advance(100);
    const others = await join(cluster, ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']);
    await cluster.advance(SETTLED_MS);
    expect(election.leaderships).toHaveLength(12);
    throws.reject(failed);
    await expect(cluster.run(leading)).rejects.toBe(failed);
    await cluster.run(Promise.all([member, ...others].map((each) => each.close())));
    expectNothingLeft(cluster);
  });
});
