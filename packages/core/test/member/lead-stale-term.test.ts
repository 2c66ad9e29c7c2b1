import { describe, expect, it } from 'vitest';
import { Fence, type Leadership } from '../../src/index.ts';
import { after } from '../support/led.ts';
import { track } from '../support/track.ts';
import { LEADER, NAME, TTL_MS, World } from '../support/world.ts';

describe('lead, whose work meets a fence that has seen a newer term,', () => {
  it('leads again, beyond the term that the fence has seen', async () => {
    const world = new World();
    const terms: bigint[] = [];
    const election = world.member('a').election(NAME);
    track(
      election.lead(async ({ term, ended }) => {
        terms.push(term);
        new Fence({ highest: 7n }).admit(term);
        await ended;
      }),
    );
    await world.pass(TTL_MS);
    expect(terms).toEqual([1n, 8n]);
  });

  it.each([
    ['in the drain', 0],
    ['after the drain', 5_000],
  ])('leads again beyond that term also if the work meets the fence only %s of another loss', async (_, stopsAfterMs) => {
    const world = new World();
    const terms: bigint[] = [];
    const election = world.member('a').election(NAME);
    track(
      election.lead(async ({ term, ended }) => {
        terms.push(term);
        await ended;
        await after(world, stopsAfterMs);
        new Fence({ highest: 7n }).admit(term);
      }),
    );
    await world.pass(100);
    world.server.deleteKey(LEADER);
    await world.pass(2 * TTL_MS);
    expect(terms).toEqual([1n, 8n]);
    expect(world.events.about('the work failed')).toMatchObject([{ err: { code: 'STALE_TERM' }, campaignsAgain: true }]);
  });

  it('claims a higher term in its next call if the work meets the fence after the caller has given up', async () => {
    const world = new World();
    const caller = new AbortController();
    const election = world.member('a').election(NAME);
    const work = async ({ term, ended }: Leadership): Promise<void> => {
      await ended;
      await after(world, TTL_MS);
      new Fence({ highest: 7n }).admit(term);
    };
    const leading = track(election.lead(work, { signal: caller.signal }));
    await world.pass(100);
    caller.abort(new Error('enough'));
    await world.pass(TTL_MS / 2);
    expect(leading.error).toMatchObject({ message: 'enough' });
    expect(await world.run(election.lead(({ term }) => term))).toBe(8n);
  });

  it('resigns, and rejects with STALE_TERM, if the term that the fence has seen is too high to be true', async () => {
    const world = new World();
    const election = world.member('a').election(NAME);
    const leading = election.lead(({ term }) => new Fence({ highest: 2n ** 62n }).admit(term));
    await expect(world.run(leading)).rejects.toMatchObject({ code: 'STALE_TERM' });
    expect([election.leadership, world.json(LEADER)]).toEqual([undefined, undefined]);
  });
});
