/**
 * A member that starts with another list of members than the one it voted in: it warns or does not
 * start.
 */

import { describe, expect, it } from 'vitest';
import { MemoryNetwork, MemoryStorage, PeerMember, quorum, type Vote } from '../src/index.ts';
import { Group, logger } from './support.ts';

const MESSAGE = 'the members are others than when this member voted last: all of them must have the same list';

function change(former: readonly string[] | undefined, members: readonly string[]) {
  const log = logger();
  const storage = new MemoryStorage();
  const vote: Vote = { memberId: 'a', term: 5n, votedFor: 'a', ...(former === undefined ? {} : { members: former }) };
  const member = new PeerMember({ algorithm: quorum({ members }), transport: new MemoryNetwork(), memberId: 'a', storage, logger: log });
  const start = async (): Promise<void> => {
    await storage.save(vote);
    try {
      await member.start();
    } finally {
      await member.close();
    }
  };
  return { start, warnings: () => log.lines.filter(({ message }) => message === MESSAGE).map(({ fields }) => fields) };
}

const abc = ['a', 'b', 'c'];

describe('a member that voted in another list of members', () => {
  it.each([
    ['one more', abc, ['a', 'b', 'c', 'd']],
    ['one fewer', abc, ['a', 'b']],
    ['one fewer of five', ['a', 'b', 'c', 'd', 'e'], ['a', 'b', 'c', 'd']],
    ['itself alone before', ['a'], ['a', 'b']],
  ])('warns about %s, and starts', async (_, former, members) => {
    const { start, warnings } = change(former, members);
    await start();
    expect(warnings()).toMatchObject([{ former, members }]);
  });

  it.each([
    ['one in place of another', abc, ['a', 'b', 'd']],
    ['two more', abc, ['a', 'b', 'c', 'd', 'e']],
    ['two fewer of five', ['a', 'b', 'c', 'd', 'e'], abc],
    ['quite others', abc, ['a', 'x', 'y']],
  ])('does not start with %s: two majorities may have no member in common', async (_, former, members) => {
    const { start } = change(former, members);
    await expect(start()).rejects.toMatchObject({ code: 'MEMBERS_CHANGED', details: { former, members } });
  });

  it('is told how it can start although it missed changes of the list while it was down', async () => {
    const { start } = change(abc, ['a', 'b', 'c', 'd', 'e']);
    await expect(start()).rejects.toThrow(
      'If the list changed in such steps while this member was down, remove its vote file, but only after this process has been stopped for ' +
        'longer than the longest election timeout and the other members have then elected a leader, and never on a majority of the members at once',
    );
  });

  it.each([
    ['the same list', abc, abc],
    ['the same list in another order', abc, ['c', 'a', 'b']],
    ['a vote that does not say', undefined, abc],
  ])('does not warn about %s', async (_, former, members) => {
    const { start, warnings } = change(former, members);
    await start();
    expect(warnings()).toEqual([]);
  });
});

it('each vote is saved with the list of members', async () => {
  await using group = new Group();
  const campaigns = group.ids.map((id) => group.member(id).campaign());
  for (const campaign of campaigns) campaign.catch(() => {});
  await group.clock.run(Promise.race(campaigns));
  await group.clock.advance(1_000);
  for (const id of group.ids) expect(await group.storages.get(id)?.load()).toMatchObject({ members: group.ids });
});
