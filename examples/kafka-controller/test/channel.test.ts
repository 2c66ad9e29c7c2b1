import { expect, it } from 'vitest';
import { Channel } from '../channel.ts';
import { createTopic } from '../partitions.ts';

/** More than any chain of promises needs. */
const MICROTASKS = 12;

/** A channel that has sent `a`, and whose next messages are answered at once. */
function opened(): { readonly channel: Channel; readonly told: string[]; readonly answer: () => void } {
  const partitions = createTopic({ topic: 'orders', partitions: 1, replicationFactor: 1 }, new Set(['broker-1']));
  const [partition] = partitions.values();
  const first = Promise.withResolvers<void>();
  const told: string[] = [];
  const channel = new Channel({
    tell: async (states) => {
      told.push(...Object.keys(states));
      await first.promise;
    },
    stateOf: () => partition,
    overtaken: ({ message }) => expect.unreachable(message),
  });
  channel.mark(['a']);
  return { channel, told, answer: first.resolve };
}

it.each(Array.from({ length: MICROTASKS }, (_, index) => index))(
  'tells of what is marked %i microtasks after the answer to what it told before',
  async (microtasks) => {
    const { channel, told, answer } = opened();
    answer();
    for (let left = microtasks; left > 0; left -= 1) await Promise.resolve();
    channel.mark(['b']);
    for (let left = MICROTASKS; left > 0; left -= 1) await Promise.resolve();
    expect(told).toEqual(['a', 'b']);
    await channel.told;
  },
);

it('has nothing to tell where nothing was marked', async () => {
  const { channel, told, answer } = opened();
  answer();
  await channel.told;
  channel.mark([]);
  await channel.told;
  channel.mark(['b']);
  expect(told).toEqual(['a', 'b']);
  await channel.told;
});
