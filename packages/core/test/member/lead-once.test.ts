import { describe, expect, it } from 'vitest';
import { type Leadership, StoreError } from '../../src/index.ts';
import { behind, led } from '../support/led.ts';
import { track } from '../support/track.ts';
import { LEADER, NAME, TTL_MS, World } from '../support/world.ts';

describe('lead with `once`', () => {
  it('waits for its turn, and resolves with what the work returns', async () => {
    const { world, leadership } = await led();
    const leading = track(
      world
        .member('b')
        .election(NAME)
        .lead(({ term }) => term, { once: true }),
    );
    await world.pass(TTL_MS);
    expect(leading.state).toBe('pending');
    await world.run(leadership.resign());
    await world.pass(100);
    expect(leading.value).toBe(2n);
    await world.close();
    world.expectNothingLeft();
  });

  it.each(['the lease expires', 'the record is deleted', 'it hands over'])('rejects when %s, and calls the work once', async (how) => {
    const world = new World();
    const election = world.member('a').election(NAME);
    const terms: bigint[] = [];
    const work = async ({ term, ended }: Leadership): Promise<void> => {
      terms.push(term);
      await ended;
    };
    const leading = track(election.lead(work, { once: true }));
    await world.pass(100);
    await behind(world, 'b');
    if (how === 'the lease expires') world.server.expireLease(world.leaseOf('a'));
    else if (how === 'the record is deleted') world.server.deleteKey(LEADER);
    else await world.run(election.leadership!.handover('b'));
    await world.pass(2 * TTL_MS);
    expect(leading).toMatchObject({ state: 'rejected', error: { code: 'LEADERSHIP_ENDED', details: { term: 1n } } });
    expect([terms, world.queue()]).toEqual([[1n], ['b']]);
    await world.close();
    world.expectNothingLeft();
  });

  it('rejects with an error of the work, also with one that a retry may solve', async () => {
    const world = new World();
    const error = new StoreError('UNREACHABLE', 'notSent', 'away');
    const leading = world
      .member('a')
      .election(NAME)
      .lead(() => Promise.reject(error), { once: true });
    await expect(world.run(leading)).rejects.toBe(error);
    await world.close();
  });

  it('resolves with undefined when its member closes', async () => {
    const world = new World();
    const member = world.member('a');
    const leading = track(member.election(NAME).lead(({ ended }) => ended, { once: true }));
    await world.pass(100);
    await world.run(member.shutdown());
    await world.pass();
    expect(leading).toEqual({ state: 'resolved', value: undefined });
    world.expectNothingLeft();
  });

  it.each([
    [{ once: 1 }, 'once is 1: it must be true or false'],
    [{ once: true, retry: false }, 'retry is false: it must be left out with once: true'],
    [{ once: true, retry: () => true }, 'retry is a function: it must be left out with once: true'],
  ])('refuses the options %o', async (options, message) => {
    const election = new World().member('a').election(NAME);
    await expect(Reflect.apply(election.lead, election, [() => {}, options])).rejects.toThrow(message);
  });
});
