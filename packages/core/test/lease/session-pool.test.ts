import { describe, expect, it } from 'vitest';
import { StoreError, type Leadership, type Member } from '../../src/index.ts';
import { relay } from '../support/relay.ts';
import { track, type Tracked } from '../support/track.ts';
import { TTL_MS, World } from '../support/world.ts';

/**
 * Room for the member's id and two elections by the first lease, and for two elections and an entry
 * of a group by each further one.
 */
const KEYS = 5;

interface Scene {
  readonly world: World;
  readonly member: Member;
}

function scene(options: Parameters<World['member']>[1] = {}): Scene {
  const world = new World({ maxKeysPerLease: KEYS });
  return { world, member: world.member('a', options) };
}

async function leading(world: World, member: Member, names: readonly string[]): Promise<readonly Leadership[]> {
  return world.run(Promise.all(names.map((name) => member.election(name).campaign())));
}

/** How many keys hang on each lease, the most first. */
function keysByLease({ server }: World): readonly number[] {
  const leases = server.entries().flatMap(({ lease }) => (lease === undefined ? [] : [lease]));
  return [...new Set(leases)].map((lease) => leases.filter((other) => other === lease).length).toSorted((a, b) => b - a);
}

function leaseOf({ server }: World, election: string): string {
  return server.entries().find(({ key }) => key === `elections/${election}/leader`)?.lease ?? 'none';
}

function valid(leaderships: readonly Leadership[]): readonly boolean[] {
  return leaderships.map((leadership) => leadership.isValid());
}

describe('a store that wants few keys by one lease', () => {
  it('gets no more: further leases are taken as they are needed, and given back at the end', async () => {
    const { world, member } = scene();
    await leading(world, member, ['1', '2', '3', '4', '5']);
    await world.run(member.group('g').join());
    expect(keysByLease(world)).toEqual([5, 5, 2]);
    expect(world.server.leases().length).toBe(3);
    await world.run(member.close());
    world.expectNothingLeft();
  });

  it('is asked for no lease by elections that nobody campaigns in', async () => {
    const { world, member } = scene();
    for (const name of ['1', '2', '3', '4', '5']) member.election(name);
    await leading(world, member, ['6', '7']);
    expect(world.server.leases().length).toBe(1);
  });

  it('keeps an election where it began', async () => {
    const { world, member } = scene();
    for (let i = 0; i < 5; i += 1) {
      const [leadership] = await leading(world, member, ['1']);
      await world.run(leadership?.resign() ?? Promise.reject(new Error('nobody leads')));
    }
    await leading(world, member, ['2']);
    expect(world.server.leases().length).toBe(1);
  });

  it('that allows fewer keys per lease than one election needs gets a lease for each election', async () => {
    const world = new World({ maxKeysPerLease: 1 });
    const member = world.member('a');
    await leading(world, member, ['1', '2']);
    expect(keysByLease(world)).toEqual([2, 2, 1]);
    await world.run(member.close());
    world.expectNothingLeft();
  });
});

describe('a further lease', () => {
  it('that is lost takes its own elections with it, and no others; they come back by another', async () => {
    const { world, member } = scene();
    const leaderships = await leading(world, member, ['1', '2', '3', '4']);
    const lost = leaseOf(world, '3');
    const again = ['3', '4'].map((name) => track(campaignAgain(member, name)));
    world.server.expireLease(lost);
    await world.pass(TTL_MS);
    expect(valid(leaderships)).toEqual([true, true, false, false]);
    expect(await leaderships[2]?.ended).toMatchObject({ reason: expect.stringMatching(/^(leaseExpired|recordDeleted|entryDeleted)$/) });
    expect(again.map(({ state }) => state)).toEqual(['resolved', 'resolved']);
    expect(world.server.leases().length).toBe(2);
    await world.run(member.close());
    world.expectNothingLeft();
  });

  it('ends with the first, is revoked, and follows another first', async () => {
    const { world, member } = scene();
    const leaderships = await leading(world, member, ['1', '3', '4']);
    const [first, further] = [leaseOf(world, '1'), leaseOf(world, '4')];
    expect(first).not.toBe(further);
    world.server.expireLease(first);
    await world.pass(TTL_MS / 5);
    expect(valid(leaderships)).toEqual([false, false, false]);
    expect(world.server.leases().map(({ id }) => id)).not.toContain(further);
    await leading(world, member, ['1', '3', '4']);
    expect(keysByLease(world)).toEqual([5, 2]);
    await world.run(member.close());
    world.expectNothingLeft();
  });

  it('ends when another process takes the id: the replaced member leads nowhere, and campaigns nowhere again', async () => {
    const { world, member } = scene();
    const leaderships = await leading(world, member, ['1', '2', '3', '4', '5']);
    const other = world.member('a', { onDuplicate: 'replace' });
    const campaigns: Tracked<Leadership>[] = ['1', '5'].map((name) => track(other.election(name).campaign()));
    await world.pass(TTL_MS);
    expect(valid(leaderships)).toEqual([false, false, false, false, false]);
    expect(await Promise.all(leaderships.map(async ({ ended }) => (await ended).reason))).toEqual(leaderships.map(() => 'replaced'));
    await expect(world.run(member.election('5').campaign())).rejects.toMatchObject({ code: 'DUPLICATE_MEMBER' });
    expect(campaigns.map(({ state }) => state)).toEqual(['resolved', 'resolved']);
    await world.run(member.close());
    expect(world.server.leases().length).toBe(1);
    await world.close();
    world.expectNothingLeft();
  });

  it('is not taken before the id is', async () => {
    const { world, member } = scene();
    await leading(world, member, ['1']);
    const other = world.member('a', { onDuplicate: 'refuse' });
    const refused = ['1', '2', '3', '4'].map((name) => track(other.election(name).campaign()));
    await world.pass(TTL_MS);
    expect(refused.map(({ error }) => error)).toMatchObject(refused.map(() => ({ code: 'DUPLICATE_MEMBER' })));
    expect(world.server.leases().length).toBe(1);
  });

  it('whose renewal is overdue makes the member suspect', async () => {
    const world = new World({ maxKeysPerLease: KEYS });
    const behind = world.connect();
    let deafFor = 'none';
    const store = relay(behind, {
      renewLease: async (lease, options) => {
        if (lease === deafFor) throw new StoreError('TIMEOUT', 'unknown', 'no answer');
        return behind.renewLease(lease, options);
      },
    });
    const member = world.member('a', {}, store);
    const leaderships = await leading(world, member, ['1', '2', '3']);
    deafFor = leaseOf(world, '3');
    await world.pass(TTL_MS / 2);
    expect([member.state, ...leaderships.map(({ state }) => state)]).toEqual(['suspect', 'valid', 'valid', 'suspect']);
    await world.pass(TTL_MS);
    expect([member.state, ...valid(leaderships)]).toEqual(['live', true, true, false]);
  });

  it('that cannot be had is waited for; closing meanwhile leaves nothing', async () => {
    const world = new World({ maxKeysPerLease: KEYS });
    const store = world.connect();
    const member = world.member('a', {}, store);
    await leading(world, member, ['1', '2']);
    store.link.dropReplies(1, { operations: ['grantLease'], how: 'timeout' });
    const third = track(member.election('3').campaign());
    await world.pass(100);
    const closed = member.close();
    await world.run(closed);
    expect(third.error).toMatchObject({ code: 'MEMBER_CLOSED' });
    await world.pass(2 * TTL_MS);
    world.expectNothingLeft();
  });
});

/** Campaigns again as soon as the present leadership is over. */
async function campaignAgain(member: Member, name: string): Promise<Leadership> {
  const election = member.election(name);
  await election.leadership?.released;
  return election.campaign();
}
