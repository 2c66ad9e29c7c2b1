/** Restarts of the only seed, and of one of two seeds. */

import { describe, expect, it } from 'vitest';
import { Cluster } from './cluster.ts';

const IDS = ['a', 'b', 'c'];

async function together(seeds: readonly string[], chance = 0): Promise<Cluster> {
  const cluster = new Cluster({ seeds, chance, joinAttempts: 8 });
  for (const id of IDS) {
    cluster.start(id);
    await cluster.pass(400);
  }
  return cluster;
}

describe('the only seed', () => {
  it('founds a second cluster if it restarts after the others have removed it, until they find it', async () => {
    await using cluster = await together(['a']);
    cluster.crash('a');
    await cluster.pass(1_000);
    cluster.start('a');
    await cluster.pass(260);
    expect([cluster.list('a'), cluster.list('b', 'c'), cluster.leaders]).toEqual(['a', 'b c', 'b a']);
    await cluster.pass(1_500);
    expect([cluster.list(), cluster.leaders]).toEqual(['b c a', 'b']);
    expect(cluster.of('a').ends).toEqual(['merged']);
  });

  it('soon rejoins the others if it restarts before they suspect it', async () => {
    for (let chance = 1; chance <= 10; chance += 1) {
      await using cluster = await together(['a'], chance);
      cluster.crash('a');
      cluster.start('a');
      await cluster.pass(1_500);
      expect(cluster.list().split(' ').toSorted()).toEqual(IDS);
      expect(cluster.leaders).toBe(cluster.membership('a')?.coordinator);
    }
  });

  it('keeps new members from joining while it is down', async () => {
    await using cluster = await together(['a']);
    cluster.crash('a');
    cluster.start('d');
    await cluster.pass(3_000);
    expect([cluster.list('b', 'c'), cluster.of('d').error]).toEqual(['b c', 'JOIN_FAILED']);
  });
});

describe('of two seeds', () => {
  it('one that restarts asks the other and founds no second cluster', async () => {
    await using cluster = await together(['a', 'b']);
    cluster.crash('a');
    await cluster.pass(1_000);
    cluster.start('a');
    await cluster.pass(1_500);
    expect([cluster.list(), cluster.of('a').ends, cluster.sent.get('merge')]).toEqual(['b c a', [], undefined]);
  });

  it('both, when they restart at the same time, may found a second cluster until the others find it', async () => {
    let second = 0;
    for (let chance = 1; chance <= 10; chance += 1) {
      await using cluster = await together(['a', 'b'], chance);
      cluster.crash('a', 'b');
      await cluster.pass(1_000);
      cluster.start('a');
      cluster.start('b');
      await cluster.pass(260);
      if (cluster.leaders === 'c a') second += 1;
      await cluster.pass(2_000);
      expect(cluster.list().split(' ').toSorted()).toEqual(IDS);
    }
    expect(second).toBeGreaterThan(0);
  });

  it('one lets new members join while the other is down', async () => {
    await using cluster = await together(['a', 'b']);
    cluster.crash('a');
    cluster.start('d');
    await cluster.pass(3_000);
    expect([cluster.list(), cluster.of('d').error]).toEqual(['b c d', undefined]);
  });
});
