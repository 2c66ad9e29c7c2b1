import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Election } from '../../src/index.ts';
import { relay } from '../support/relay.ts';
import { track, type Tracked } from '../support/track.ts';
import { LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

describe('a campaign that is aborted at any moment', () => {
  /** What may be the matter meanwhile. */
  const scenes: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
    'of a lone candidate': async () => {},
    'behind a leader': async (world) => world.elect(world.member('leader')),
    'behind a leader that has gone': async (world) =>
      world.run(
        world
          .member('leader')
          .election(NAME)
          .lead(() => {}),
      ),
  };
  const faults = ['nothing lost', 'compareAndSwap', 'enqueue', 'grantLease'] as const;

  for (const [scene, prepare] of Object.entries(scenes)) {
    it.each(faults)(`${scene} leaves nothing, with the answer lost of: %s`, async (lost) => {
      for (let atMs = 0; atMs <= 16; atMs += 1) {
        const world = new World();
        await prepare(world);
        const keys = world.server.keys();
        const { holds } = world.clock;
        const held = world.server.watches.open;
        const store = world.connect({ latencyMs: 1 });
        if (lost !== 'nothing lost') store.link.dropReplies(1, { operations: [lost], how: 'reset' });
        const caller = new AbortController();
        const campaign = track(world.member('a', {}, store).election(NAME).campaign({ signal: caller.signal }));
        await world.pass(atMs);
        const settled = campaign.state;
        caller.abort(new Error('enough'));
        await world.pass();
        expect(campaign.state, `aborted after ${atMs} ms`).toBe(settled === 'resolved' ? 'resolved' : 'rejected');
        if (campaign.state === 'resolved') continue;
        expect(campaign.error).toMatchObject({ message: 'enough' });
        await world.pass(2 * TTL_MS);
        const left = world.server.keys().filter((key) => !keys.includes(key) && key !== 'members/a' && key !== TERM);
        expect(left, `aborted after ${atMs} ms`).toEqual([]);
        // A session that is kept watches over its member's key.
        const watches = held + Number(world.server.keys().includes('members/a'));
        expect([world.clock.holds, world.server.watches.open], `aborted after ${atMs} ms`).toEqual([holds, watches]);
        await world.close();
        world.expectNothingLeft();
      }
    });
  }

  it('even of its election, leaves no leadership that nobody holds', async () => {
    for (let hops = 0; hops < 40; hops += 1) {
      const world = new World();
      const caller = new AbortController();
      const store = relay(world.connect(), {});
      const swap = store.compareAndSwap;
      const watched = relay(store, {
        compareAndSwap: async (changes, options) => {
          const result = await swap(changes, options);
          if (changes[0]?.key === LEADER) hop(hops, () => caller.abort(new Error('enough')));
          return result;
        },
      });
      const campaign = track(world.member('a', {}, watched).election(NAME).campaign({ signal: caller.signal }));
      await world.pass(TTL_MS);
      expect(campaign.state, `aborted ${hops} steps after the claim`).not.toBe('pending');
      expect(world.json(LEADER) !== undefined, `aborted ${hops} steps after the claim`).toBe(campaign.state === 'resolved');
    }
  });

  it('leaves no listener on the signal but one, however often it is used', async () => {
    const world = new World();
    const caller = new AbortController();
    const member = world.member('a');
    const elections = Array.from({ length: 50 }, (_, i) => member.election(`e${i}`));
    for (const election of elections) await once(world, election, caller.signal);
    expect(getEventListeners(caller.signal, 'abort').length).toBeLessThanOrEqual(1);
  });
});

async function once(world: World, election: Election, signal: AbortSignal): Promise<void> {
  const done: Tracked<unknown> = track(election.lead(() => 'done', { signal }));
  await world.until(() => done.state !== 'pending', 'led');
  expect(done.value).toBe('done');
}

/** Runs the task after so many turns of the promises. */
function hop(times: number, task: () => void): void {
  if (times === 0) task();
  else queueMicrotask(() => hop(times - 1, task));
}
