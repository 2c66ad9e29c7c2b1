/** Terms on a server without persistence. */

import { Member } from '@incumbent/core';
import { requireStore, startRedis } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { openRedis } from '../src/index.ts';

describe.runIf(await requireStore({ store: 'redis', own: true }))('terms', () => {
  it('rise over the restart of a server that loses its data, which ends the former leadership', async () => {
    await using server = await startRedis({ persistent: false });
    await using store = await openRedis({ endpoints: [new URL(server.url).host] });
    await using member = new Member(store, { memberId: 'a', ttlMs: 2_000 });
    const election = member.election('controller', { acceptWeakStore: 'redis' });
    const terms: bigint[] = [];
    for (let i = 0; i < 3; i += 1) {
      const leadership = await election.campaign();
      terms.push(leadership.term);
      await server.restart();
      expect((await leadership.ended).lost).toBe(true);
      expect(leadership.isValid()).toBe(false);
    }
    expect(terms).toEqual(terms.toSorted((a, b) => Number(a - b)));
    expect(new Set(terms).size).toBe(3);
  });
});
