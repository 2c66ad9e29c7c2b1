import { describe, expect, it } from 'vitest';
import { behind, led } from '../support/led.ts';
import { track } from '../support/track.ts';
import { CANDIDATES, NAME, TERM, TTL_MS, type World } from '../support/world.ts';

/** Why candidates have left the queue so far. */
function reasons(world: World): readonly unknown[] {
  return world.events.about('left the queue').map(({ why }) => why);
}

/** The key of a candidate's entry. */
function entryOf(world: World, memberId: string): string {
  const entry = world.server.entries().find(({ key }) => key.startsWith(`${CANDIDATES}/${memberId}~`));
  if (entry === undefined) throw new Error(`${memberId} is not in the queue`);
  return entry.key;
}

describe('a candidate reports that it has left the queue', () => {
  it('if its caller gives up', async () => {
    const { world } = await led();
    const stop = new AbortController();
    track(world.member('b').election(NAME).campaign({ signal: stop.signal }));
    await world.pass(TTL_MS / 10);
    const key = entryOf(world, 'b');
    stop.abort();
    await world.pass(TTL_MS / 10);
    expect(world.events.about('left the queue')).toMatchObject([{ election: NAME, key, why: 'stopped', memberId: 'b' }]);
  });

  it('if somebody deletes its entry, before it joins again', async () => {
    const { world } = await led();
    const campaign = await behind(world, 'b');
    world.server.deleteKey(entryOf(world, 'b'));
    await world.pass(TTL_MS / 2);
    expect([reasons(world), campaign.state, world.queue()]).toEqual([['removed'], 'pending', ['a', 'b']]);
  });

  it('if its lease ends', async () => {
    const { world } = await led();
    const campaign = await behind(world, 'b');
    world.server.expireLease(world.leaseOf('b'));
    await world.pass(TTL_MS);
    expect([reasons(world), campaign.state, world.queue()]).toEqual([['sessionLost'], 'pending', ['a', 'b']]);
  });

  it('if its campaign fails, with the error', async () => {
    const { world } = await led();
    const campaign = await behind(world, 'b');
    world.put(TERM, 'not a term');
    world.server.expireLease(world.leaseOf('a'));
    await world.pass(TTL_MS / 10);
    expect(campaign.state).toBe('rejected');
    expect(world.events.about('left the queue')).toMatchObject([{ why: 'failed', err: { code: 'FOREIGN_DATA' } }]);
  });
});

describe('a candidate reports no such thing', () => {
  it('if it is elected, and resigns', async () => {
    const { world, leadership } = await led();
    await world.run(leadership.resign());
    expect(reasons(world)).toEqual([]);
  });

  it('if it has never joined the queue', async () => {
    const { world, store, member } = await led();
    store.link.cutOff();
    const stop = new AbortController();
    const campaign = track(member.election('other').campaign({ signal: stop.signal }));
    await world.pass(TTL_MS / 2);
    stop.abort();
    await world.pass(5 * TTL_MS);
    expect([campaign.state, reasons(world)]).toEqual(['rejected', []]);
  });
});
