import { describe, expect, it } from 'vitest';

import { TestCluster } from '@incumbent/memory';

import { Member, type LeaseTimes, type ReapedMember, type Reaper } from '../../src/index.ts';

/** Records the calls that it gets. */
class Notes implements Reaper {
  readonly log: string[] = [];
  readonly times: LeaseTimes[] = [];
  members: ReapedMember[] = [];

  join(member: ReapedMember) {
    this.members.push(member);
    return {
      watch: (lease: string) => {
        this.log.push(`watch ${lease}`);
        return {
          renewed: (times: LeaseTimes) => void this.times.push(times),
          ended: () => void this.log.push(`ended ${lease}`),
          forget: () => void this.log.push(`forget ${lease}`),
        };
      },
      close: async () => void this.log.push('close'),
    };
  }
}

describe('a member with a reaper', () => {
  it('tells it of a lease with the answer that granted it, and of every renewal, until it is revoked', async () => {
    await using cluster = new TestCluster();
    const reaper = new Notes();
    const { store, options } = cluster.process('a');
    const member = new Member(store, { ...options, ttlMs: 10_000, reaper });
    expect(reaper.log).toEqual([]);
    await cluster.run(member.election('jobs').campaign());
    const [lease] = cluster.server.leases();
    expect(reaper.log).toEqual([`watch ${lease?.id}`]);
    const before = reaper.times.length;
    await cluster.advance(10_000);
    expect(reaper.times.length).toBe(before + 3);
    await cluster.run(member.close());
    expect(reaper.log).toEqual([`watch ${lease?.id}`, `ended ${lease?.id}`, `forget ${lease?.id}`, 'close']);
    expect(cluster.server.leases()).toEqual([]);
  });

  it('tells it until when the work may go on, which is later than its own deadline, and when the lease is over at the latest', async () => {
    await using cluster = new TestCluster();
    const reaper = new Notes();
    const { store, options } = cluster.process('a');
    const member = new Member(store, { ...options, ttlMs: 10_000, drainMs: 2_000, reaper });
    const leadership = await cluster.run(member.election('jobs').campaign());
    const times = reaper.times.at(-1) ?? expect.unreachable('it got no times');
    const now = options.clock?.monotonic() ?? Number.NaN;
    expect(times.safeUntil - now).toBeCloseTo(leadership.remainingMs() + 2_000);
    expect(times.overBy - now).toBeGreaterThanOrEqual(10_000);
    await cluster.run(member.close());
  });

  it('has it keep a lease whose end the store cannot be asked for, as long as it tries', async () => {
    await using cluster = new TestCluster();
    const reaper = new Notes();
    const { store, options } = cluster.process('a');
    const member = new Member(store, { ...options, ttlMs: 4_000, reaper });
    await cluster.run(member.election('jobs').campaign());
    cluster.cutOff('a');
    await cluster.advance(8_000);
    expect(reaper.log.filter((line) => line.startsWith('forget'))).toEqual([]);
    cluster.heal('a');
    await cluster.advance(4_000);
    expect(reaper.log.filter((line) => line.startsWith('forget')).length).toBe(1);
    await cluster.run(member.close());
  });

  it('has it forget a lease that the store says is gone, when nothing drains any more', async () => {
    await using cluster = new TestCluster();
    const reaper = new Notes();
    const { store, options } = cluster.process('a');
    const member = new Member(store, { ...options, ttlMs: 10_000, drainMs: 1_000, reaper });
    const isForgotten = (): boolean => reaper.log.some((line) => line.startsWith('forget'));
    const ended: boolean[] = [];
    void member
      .election('jobs')
      .lead(async (leadership) => {
        await leadership.ended;
        await new Promise<void>((resolve) => options.clock?.schedule(500, resolve));
        ended.push(isForgotten());
      })
      .catch(() => {});
    await cluster.advance(1_000);
    cluster.expireLease('a');
    await cluster.advance(3_000);
    // While it drained, the lease was not forgotten.
    expect(ended).toEqual([false]);
    expect(reaper.log.filter((line) => line.startsWith('forget')).length).toBe(1);
    await cluster.run(member.close());
  });

  it.each([true, false, {}, 'reaper', null])('refuses %s for one', async (reaper) => {
    await using cluster = new TestCluster();
    const { store } = cluster.process('a');
    const options = JSON.parse(JSON.stringify({ reaper }));
    expect(() => new Member(store, options)).toThrow(/reaper is .*: it must be the result of reaper\(\) of @incumbent\/reaper/);
  });
});
