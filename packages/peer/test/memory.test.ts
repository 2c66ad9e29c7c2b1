/** The options of the network in memory. */

import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import { emergent, MemoryNetwork, PeerMember, type MemoryNetworkOptions } from '../src/index.ts';

const wrong: readonly (readonly [unknown, object])[] = [
  ['a', { code: 'INVALID_OPTION', message: expect.stringContaining('seeds is a string of 1 characters') as string }],
  [{ a: 'one:1' }, { code: 'INVALID_OPTION', message: expect.stringContaining('a list of member ids') as string }],
  [['a', 'b c'], { code: 'INVALID_NAME', message: expect.stringContaining('seeds is "b c"') as string }],
  [[7], { code: 'INVALID_NAME' }],
];

describe('a network in memory', () => {
  it('refuses options that it does not know', () => {
    const options = { latency: 5 } as MemoryNetworkOptions;
    expect(() => new MemoryNetwork(options)).toThrow('there is no MemoryNetwork option "latency"');
  });

  it.each(wrong)('refuses the seeds %j', (seeds, error) => {
    expect(() => new MemoryNetwork({ seeds: seeds as readonly string[] })).toThrow(expect.objectContaining(error));
  });

  it.each([...wrong, [undefined, { code: 'INVALID_OPTION' }] as const])(
    'does not open for a member if the function returns the seeds %j',
    async (seeds, error) => {
      const clock = new ManualClock();
      const network = new MemoryNetwork({ clock, seeds: () => seeds as readonly string[] });
      await using member = new PeerMember({ algorithm: emergent({ cluster: 'x' }), transport: network, memberId: 'a', clock });
      await expect(member.start()).rejects.toMatchObject(error);
      expect(clock.timers).toBe(0);
    },
  );
});
