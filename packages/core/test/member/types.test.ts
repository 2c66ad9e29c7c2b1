import { expect, it } from 'vitest';
import { ElectionObserver, type Election, type Group, type Leadership } from '../../src/index.ts';
import { NAME, World } from '../support/world.ts';

interface Address {
  readonly host: string;
}

/** Takes whatever is published, as helpers do that do not look at it. */
function namesOf(election: Election, group: Group, observer: ElectionObserver, leadership?: Leadership): readonly (string | undefined)[] {
  return [election.name, group.name, observer.name, leadership?.memberId];
}

it('an election, a group and an observer of one value type can be passed as those of any type', async () => {
  const world = new World();
  const member = world.member('a');
  const election = member.election<Address>(NAME, { value: { host: 'a' } });
  const group = member.group<Address>('g', { value: { host: 'a' } });
  const observer = new ElectionObserver<Address>(world.connect(), NAME, { clock: world.clock });
  const leadership = await world.run(election.campaign());
  expect(namesOf(election, group, observer, leadership)).toEqual([NAME, 'g', NAME, 'a']);
});
