/** Every event `elected` is followed by one event `ended`. */

import { describe, expect, it } from 'vitest';
import type { Store } from '../../src/index.ts';
import { PausableClock } from '../../src/testing.ts';
import { Events } from '../support/events.ts';
import { unpaired } from '../support/pairs.ts';
import { relay } from '../support/relay.ts';
import { LEADER, NAME, TTL_MS, World } from '../support/world.ts';

it('a claim whose answer comes after the deadline of its session emits no elected', async () => {
  const world = new World();
  const clock = new PausableClock(world.clock);
  const link = world.connect();
  let isFirst = true;
  // The process stands still while the answer to its first claim is under way.
  const store: Store = relay(link, {
    compareAndSwap: async (changes, options) => {
      const result = await link.compareAndSwap(changes, options);
      if (!isFirst || !changes.some(({ key }) => key === LEADER)) return result;
      isFirst = false;
      clock.pause();
      await new Promise<void>((resolve) => {
        world.clock.schedule(TTL_MS, resolve);
      });
      return result;
    },
  });
  const campaigning = world.member('a', { clock }, store).election(NAME).campaign();
  await world.pass(TTL_MS + 10);
  clock.resume();
  expect((await world.run(campaigning)).term).toBe(2n);
  await world.close();
  expect(world.events.about('elected').map(({ term }) => term)).toEqual(['2']);
  expect(world.events.about('left the queue').map(({ why }) => why)).toEqual(['sessionLost']);
});

it('a leadership whose session ends while elected is emitted ends, and emits ended', async () => {
  const world = new World();
  const events = new Events();
  const info = (fields: object, message: string): void => {
    events.info(fields, message);
    if (message !== 'elected' || events.about('elected').length > 1) return;
    world.clock.advanceWall(10 * TTL_MS);
    expect(member.state).toBeDefined();
  };
  const logger = { debug: () => {}, info, warn: (...event: Parameters<Events['warn']>) => events.warn(...event), error: () => {} };
  const member = world.member('a', { logger });
  await world.elect(member);
  await world.close();
  expect(unpaired(events.all)).toEqual([]);
  expect(events.about('elected')).not.toHaveLength(0);
});

describe('what counts as a pair', () => {
  const event = (message: string, fields: object) => ({
    level: 'info' as const,
    message,
    fields: { election: 'e', term: '1', memberId: 'a', incarnation: 'x', ...fields },
  });

  it('is one begin and one end of one process, also where another process had the same term', () => {
    const other = { memberId: 'b', incarnation: 'y' };
    const events = [event('elected', {}), event('leadership ended', {}), event('elected', other), event('leadership ended', other)];
    expect(unpaired(events)).toEqual([]);
  });

  it.each([
    ['a leadership that begins twice', [event('elected', {}), event('elected', {}), event('leadership ended', {})]],
    ['a leadership that ends twice', [event('elected', {}), event('leadership ended', {}), event('leadership ended', {})]],
    ['a leadership that never ends', [event('elected', {})]],
    ['an end that another process emits', [event('elected', {}), event('leadership ended', { incarnation: 'y' })]],
  ])('is not %s', (_, events) => {
    expect(unpaired(events)).not.toEqual([]);
  });
});
