/**
 * Rotation of the secret while the group runs, in three steps. Each step restarts every member
 * once.
 */

import { until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';
import { WAIT_MS, refusals, TcpGroup } from './group.ts';

const OLD = 'the secret that all members knew';
const NEW = 'the secret that all members will know';

describe('the secret of members', () => {
  it('rotates in three steps, each of which restarts the members one by one', async () => {
    await using group = await TcpGroup.elected(['a', 'b', 'c'], { security: () => ({ secret: OLD }) });
    for (const secret of [[OLD, NEW], [NEW, OLD], NEW]) {
      for (const id of group.ids) {
        const { member, transport } = group.of(id);
        await member.close();
        await transport.close();
        group.start(id, { secret });
        await group.leader();
      }
    }
    for (const { transport } of group.members.values()) expect(transport.refused.wrongSecret).toBe(0);
  });

  it('is refused by a member that does not know it yet', async () => {
    await using group = await TcpGroup.make(['a', 'b']);
    // Of the two members, a dials b, and proves the first secret of its list.
    group.start('a', { secret: [NEW, OLD] });
    const { transport } = group.start('b', { secret: OLD });
    await refusals(transport, 'wrongSecret');
    expect(transport.connected).toEqual([]);
    await group.of('a').member.close();
    await group.of('a').transport.close();
    group.start('a', { secret: [OLD, NEW] });
    await until(() => transport.connected.length === 1, { what: 'the connection', withinMs: WAIT_MS });
  });
});
