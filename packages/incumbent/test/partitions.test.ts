import { TestCluster } from '@incumbent/memory';
import { seeded } from '@incumbent/core/testing';
import { expectNothingLeft } from '@incumbent/test-support/nothing-left';
import { describe, expect, it } from 'vitest';

import {
  Member,
  PartitionedElection,
  type PartitionLeadership,
  type PartitionLeadOptions,
  type PartitionOptions,
  sleep,
} from '../src/index.ts';

const NAME = 'orders';
const TTL_MS = 6_000;
const SETTLE_MS = 3_000;
const PARTITIONS = 12;

/** Keeps warnings of what the tests provoke out of their output. */
const silent = { debug(): void {}, info(): void {}, warn(): void {}, error(): void {} };

interface StartOptions extends Partial<PartitionOptions>, PartitionLeadOptions {
  readonly work?: (leadership: PartitionLeadership) => unknown;
}

/** Processes that divide partitions. Checks that at most one valid leader works for each. */
class Scene {
  readonly cluster = new TestCluster();
  readonly members = new Map<string, Member>();
  readonly elections = new Map<string, PartitionedElection>();
  /** The works that run, of each partition. */
  readonly working = new Map<number, Set<PartitionLeadership>>();
  readonly outcomes: [string, unknown][] = [];
  /** How many works have begun. */
  begun = 0;

  /** Starts a process, and lets it take part. */
  start(id: string, { work, signal, retry, ...options }: StartOptions = {}): Promise<void> {
    const { store, options: process } = this.cluster.process(id);
    const member = new Member(store, { ...process, ttlMs: TTL_MS, logger: silent });
    const election = new PartitionedElection(member, NAME, { partitions: PARTITIONS, clock: process.clock, ...options });
    this.members.set(id, member);
    this.elections.set(id, election);
    const leading = election.lead((leadership) => this.#work(leadership, work), {
      ...(signal === undefined ? {} : { signal }),
      ...(retry === undefined ? {} : { retry }),
    });
    leading.then(
      (value) => this.outcomes.push([id, value]),
      (error: unknown) => this.outcomes.push([id, error]),
    );
    leading.catch(() => {});
    return leading;
  }

  async #work(leadership: PartitionLeadership, work: StartOptions['work']): Promise<void> {
    const works = this.working.get(leadership.partition) ?? new Set();
    this.working.set(leadership.partition, works);
    const valid = [...works].filter((other) => other.isValid()).map(({ memberId, term }) => `${memberId} in term ${term}`);
    expect(valid, `partition ${leadership.partition}, which ${leadership.memberId} begins to lead`).toEqual([]);
    works.add(leadership);
    this.begun += 1;
    try {
      await (work === undefined ? leadership.ended : work(leadership));
    } finally {
      works.delete(leadership);
    }
  }

  /** How many partitions each member leads, as `a:4 b:4 c:4`. */
  get counts(): string {
    return [...this.elections].map(([id, { leaderships }]) => `${id}:${leaderships.length}`).join(' ');
  }

  /** The leader of each partition. */
  get leaders(): readonly (string | undefined)[] {
    const all = [...this.elections.values()].flatMap(({ leaderships }) => leaderships);
    return Array.from({ length: PARTITIONS }, (_, partition) => all.find((each) => each.partition === partition)?.memberId);
  }

  get candidates(): number {
    return this.cluster.server.keys().filter((key) => key.includes('/candidates/')).length;
  }

  pass(ms: number): Promise<void> {
    return this.cluster.advance(ms);
  }

  async close(): Promise<void> {
    await this.cluster.run(Promise.all([...this.members.values()].map((member) => member.close())));
    expect([...this.working.values()].map(({ size }) => size).filter((size) => size > 0)).toEqual([]);
    expectNothingLeft(this.cluster);
  }
}

/** A scene in which these processes share the partitions evenly. */
async function shared(...ids: readonly string[]): Promise<Scene> {
  const scene = new Scene();
  for (const id of ids) void scene.start(id);
  await scene.pass(2 * SETTLE_MS);
  return scene;
}

describe('partitions', () => {
  it('are divided evenly, again when a member joins, and each has one candidate that waits', async () => {
    const scene = new Scene();
    void scene.start('a');
    await scene.pass(100);
    expect(scene.counts).toBe('a:12');
    expect(scene.candidates).toBe(PARTITIONS);
    void scene.start('b');
    await scene.pass(SETTLE_MS - 500);
    expect(scene.counts, 'the list of members has not settled').toBe('a:12 b:0');
    await scene.pass(2 * SETTLE_MS);
    expect(scene.counts).toBe('a:6 b:6');
    void scene.start('c');
    await scene.pass(2 * SETTLE_MS);
    expect(scene.counts).toBe('a:4 b:4 c:4');
    expect(scene.candidates).toBe(2 * PARTITIONS);
    expect(scene.leaders).not.toContain(undefined);
    await scene.close();
  });

  it('move once when a member joins, and no more of them than have another leader afterwards', async () => {
    const scene = await shared('a', 'b', 'c', 'd');
    for (const id of ['e', 'f', 'g', 'h']) {
      const [before, begun] = [scene.leaders, scene.begun];
      void scene.start(id);
      await scene.pass(3 * SETTLE_MS);
      const moved = scene.leaders.filter((leader, partition) => leader !== before[partition]);
      expect(scene.begun - begun).toBe(moved.length);
      expect(scene.candidates).toBe(2 * PARTITIONS);
    }
    await scene.close();
  });

  it('of a member that dies are led by the candidates that wait, before the list has settled', async () => {
    const scene = await shared('a', 'b', 'c');
    const others = scene.leaders.filter((id) => id !== 'b').length;
    const { begun } = scene;
    scene.cluster.cutOff('b');
    await scene.pass(TTL_MS + 100);
    expect(scene.leaders).not.toContain(undefined);
    expect(scene.begun - begun, 'no other partition has moved').toBe(PARTITIONS - others);
    await scene.pass(2 * SETTLE_MS);
    expect(scene.counts).toBe('a:6 b:0 c:6');
    scene.cluster.heal('b');
    await scene.pass(2 * SETTLE_MS);
    expect(scene.counts).toBe('a:4 b:4 c:4');
    await scene.close();
  });

  it('of a member that closes are handed over at once', async () => {
    const scene = await shared('a', 'b', 'c');
    await scene.cluster.run(scene.members.get('a')!.shutdown());
    await scene.pass(50);
    expect(scene.leaders).not.toContain(undefined);
    expect(scene.outcomes).toEqual([['a', undefined]]);
    await scene.pass(2 * SETTLE_MS);
    expect(scene.counts).toBe('a:0 b:6 c:6');
    await scene.close();
  });

  it('stay where they are while a member restarts with its id, and return to it', async () => {
    const scene = await shared('a', 'b', 'c');
    const before = scene.leaders;
    await scene.cluster.run(scene.members.get('b')!.shutdown());
    await scene.pass(SETTLE_MS / 2);
    void scene.start('b');
    await scene.pass(2 * SETTLE_MS);
    expect(scene.leaders).toEqual(before);
    await scene.close();
  });

  it('move after their work has stopped', async () => {
    const scene = new Scene();
    const stopped: number[] = [];
    void scene.start('a', {
      work: async ({ partition, ended }) => {
        await ended;
        await sleep(scene.cluster.clock, 400);
        stopped.push(partition);
      },
    });
    await scene.pass(100);
    void scene.start('b', {
      work: async ({ partition, ended }) => {
        expect(stopped).toContain(partition);
        await ended;
      },
    });
    await scene.pass(2 * SETTLE_MS);
    expect(scene.counts).toBe('a:6 b:6');
    expect(stopped).toHaveLength(6);
    expect(scene.outcomes).toEqual([]);
    await scene.close();
  });

  it('return to the same members after an outage longer than the ttl', async () => {
    const scene = await shared('a', 'b', 'c', 'd');
    const before = scene.leaders;
    for (const id of scene.members.keys()) scene.cluster.cutOff(id);
    await scene.pass(2 * TTL_MS);
    expect(scene.counts).toBe('a:0 b:0 c:0 d:0');
    const { begun } = scene;
    for (const id of scene.members.keys()) scene.cluster.heal(id);
    await scene.pass(TTL_MS + SETTLE_MS);
    expect(scene.leaders).toEqual(before);
    expect(scene.begun - begun, 'a partition is led at most by its successor in between').toBeLessThanOrEqual(2 * PARTITIONS);
    await scene.close();
  });

  it('are resigned when the signal aborts, and the member leaves', async () => {
    const scene = await shared('a', 'b');
    const abort = new AbortController();
    const leading = scene.start('c', { signal: abort.signal });
    await scene.pass(2 * SETTLE_MS);
    expect(scene.counts).toBe('a:4 b:4 c:4');
    abort.abort(new Error('enough'));
    await expect(scene.cluster.run(leading)).rejects.toThrow('enough');
    await scene.pass(50);
    expect(scene.counts).toMatch(/c:0$/);
    expect(scene.leaders).not.toContain(undefined);
    expect(scene.cluster.server.keys().filter((key) => key.startsWith('groups/'))).toHaveLength(2);
    // The member may take part again.
    const again = scene.elections.get('c')!.lead(({ ended }) => ended);
    again.catch(() => {});
    await scene.pass(2 * SETTLE_MS);
    expect(scene.counts).toBe('a:4 b:4 c:4');
    await expect(scene.elections.get('c')!.lead(() => {})).rejects.toMatchObject({ code: 'ALREADY_CAMPAIGNING' });
    await scene.close();
  });

  it('are all resigned when one work throws, and lead rejects with its error', async () => {
    const scene = await shared('a', 'b');
    const failed = new Error('no paper');
    const leading = scene.start('c', { work: ({ partition, ended }) => (partition === 3 ? Promise.reject(failed) : ended) });
    // 3 may be the partition of another member: every other one is c's.
    for (const id of ['a', 'b']) await scene.cluster.run(scene.members.get(id)!.shutdown());
    await expect(scene.cluster.run(leading)).rejects.toBe(failed);
    expect(scene.counts).toBe('a:0 b:0 c:0');
    expect(scene.cluster.server.keys().filter((key) => !key.endsWith('/term'))).toEqual(['members/c']);
    await scene.close();
  });

  it('are led again after an error that `retry` accepts', async () => {
    const scene = new Scene();
    let failures = 0;
    void scene.start('a', {
      retry: () => true,
      work: ({ partition, ended }) => {
        if (partition !== 3 || failures === 3) return ended;
        failures += 1;
        throw new Error('no paper');
      },
    });
    await scene.pass(TTL_MS);
    expect(failures).toBe(3);
    expect(scene.counts).toBe('a:12');
    await scene.close();
  });

  it('are led until they move, also after their work has returned', async () => {
    const scene = new Scene();
    void scene.start('a', { work: () => {} });
    await scene.pass(TTL_MS);
    expect([scene.counts, scene.begun]).toEqual(['a:12', PARTITIONS]);
    void scene.start('b');
    await scene.pass(2 * SETTLE_MS);
    expect(scene.counts).toBe('a:6 b:6');
    await scene.close();
  });

  it('can become more in a rolling deployment', async () => {
    const scene = new Scene();
    for (const id of ['a', 'b']) void scene.start(id, { partitions: 8 });
    await scene.pass(2 * SETTLE_MS);
    expect(scene.counts).toBe('a:4 b:4');
    void scene.start('c');
    await scene.pass(2 * SETTLE_MS);
    expect(scene.leaders).not.toContain(undefined);
    expect(scene.leaders.slice(8)).toEqual(['c', 'c', 'c', 'c']);
    for (const id of ['a', 'b']) {
      await scene.cluster.run(scene.members.get(id)!.shutdown());
      void scene.start(id);
    }
    await scene.pass(2 * SETTLE_MS);
    expect(scene.counts).toBe('a:4 b:4 c:4');
    await scene.close();
  });

  it('do not move to and fro between members that see different lists', async () => {
    const scene = new Scene();
    const thaw = Promise.withResolvers<void>();
    const { store } = scene.cluster.process('b');
    const watchList = store.watchList.bind(store);
    let isFrozen = false;
    store.watchList = async function* frozen(prefix, options) {
      for await (const entries of watchList(prefix, options)) {
        if (isFrozen && prefix.startsWith('groups/')) await thaw.promise;
        yield entries;
      }
    };
    for (const id of ['a', 'b']) void scene.start(id);
    await scene.pass(2 * SETTLE_MS);
    // With c, partition 10 moves from a to b. As long as b has not seen c, b prefers a for it.
    isFrozen = true;
    void scene.start('c');
    await scene.pass(2 * SETTLE_MS);
    const { begun } = scene;
    await scene.pass(10_000);
    expect(scene.begun - begun, 'works that have begun in ten seconds').toBeLessThanOrEqual(10);
    thaw.resolve();
    await scene.pass(2 * SETTLE_MS);
    expect(scene.counts).toBe('a:4 b:4 c:4');
    await scene.close();
  });

  it('move even if another member joins and leaves all the time', async () => {
    const scene = new Scene();
    void scene.start('a');
    await scene.pass(100);
    void scene.start('b');
    await scene.pass(100);
    expect(scene.counts).toBe('a:12 b:0');
    const { store, options } = scene.cluster.process('flapping');
    const member = new Member(store, { ...options, ttlMs: TTL_MS });
    scene.members.set('flapping', member);
    const group = member.group(`${NAME}.members`, { value: { partitions: PARTITIONS } });
    for (let passedMs = 0; passedMs < 12 * SETTLE_MS; passedMs += SETTLE_MS) {
      await scene.cluster.run(group.join());
      await scene.pass(SETTLE_MS / 2);
      await scene.cluster.run(group.leave());
      await scene.pass(SETTLE_MS / 2);
    }
    expect(scene.elections.get('b')!.leaderships.length).toBeGreaterThan(0);
    await scene.close();
  });

  it.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'have one leader each in a storm of faults, and all of them after it (%s)',
    async (seed) => {
      const random = seeded(seed);
      const below = (limit: number): number => random.u32() % limit;
      const ids = ['a', 'b', 'c', 'd', 'e'];
      const scene = await shared(...ids);
      for (let i = 0; i < 30; i += 1) {
        const id = ids[below(ids.length)]!;
        const fault = ['cutOff', 'pause', 'expireLease', 'restart'] as const;
        switch (fault[below(fault.length)]) {
          case 'cutOff':
            scene.cluster.cutOff(id);
            await scene.pass(below(3 * TTL_MS));
            scene.cluster.heal(id);
            break;
          case 'pause':
            scene.cluster.pause(id);
            await scene.pass(below(3 * TTL_MS));
            scene.cluster.resume(id);
            break;
          case 'expireLease':
            if (scene.cluster.server.keys().includes(`members/${id}`)) scene.cluster.expireLease(id);
            break;
          default:
            await scene.cluster.run(scene.members.get(id)!.shutdown());
            await scene.pass(below(2 * SETTLE_MS));
            void scene.start(id);
        }
        await scene.pass(below(2 * SETTLE_MS));
      }
      await scene.pass(5 * TTL_MS);
      expect([...scene.elections.values()].map(({ leaderships }) => leaderships.length).toSorted((a, b) => a - b)).toEqual([2, 2, 2, 3, 3]);
      expect(scene.candidates).toBe(2 * PARTITIONS);
      expect(scene.outcomes.filter(([, outcome]) => outcome !== undefined)).toEqual([]);
      await scene.close();
    },
  );

  it.each([
    { partitions: 0 },
    { partitions: 1.5 },
    { partitions: 1_001 },
    { settleMs: -1 },
    { settleMs: 600_001 },
    { succession: undefined },
  ])('do not accept %o', async (options) => {
    const { store, options: process } = new TestCluster().process('a');
    const member = new Member(store, process);
    expect(() => new PartitionedElection(member, NAME, { partitions: 1, ...options })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    );
    await member.close();
  });
});
