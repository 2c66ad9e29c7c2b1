/** The revisions of its own keys that a member knows when it begins to watch them. */

import { expect, it } from 'vitest';
import type { Store } from '../../src/index.ts';
import { led } from '../support/led.ts';
import { relay } from '../support/relay.ts';
import { CANDIDATES, LEADER, NAME, World } from '../support/world.ts';

/** Records the revision that is known at the start of each watch of a key of the election. */
function recording(behind: Store, known: Map<string, string | undefined>): Store {
  return relay(behind, {
    watch: (key, options) => {
      if (key.startsWith('elections/')) known.set(key.startsWith(`${CANDIDATES}/b`) ? 'own' : key, options?.since);
      return behind.watch(key, options);
    },
  });
}

async function revisionOf(world: World, key: string): Promise<string | undefined> {
  return (await world.run(world.connect().read(key, { timeoutMs: 100 })))?.revision;
}

it('a member that is elected at once knows its entry and its record', async () => {
  const world = new World();
  const known = new Map<string, string | undefined>();
  await world.run(world.member('b', {}, recording(world.connect(), known)).election(NAME).campaign());
  await world.pass(20);
  const entry = world.server.keys().find((key) => key.startsWith(`${CANDIDATES}/b`)) ?? '';
  expect(known).toEqual(
    new Map([
      ['own', await revisionOf(world, entry)],
      [LEADER, await revisionOf(world, LEADER)],
    ]),
  );
});

it('a successor knows the record that the swap of the handover wrote', async () => {
  const { world, leadership } = await led();
  const known = new Map<string, string | undefined>();
  const next = world.member('b', {}, recording(world.connect(), known)).election(NAME).campaign();
  await world.pass(20);
  known.clear();
  await world.run(leadership.handover());
  await world.run(next);
  await world.pass(20);
  expect(known).toEqual(new Map([[LEADER, await revisionOf(world, LEADER)]]));
});

it('a leader that publishes at once knows a revision that the store has confirmed', async () => {
  const world = new World();
  const known = new Map<string, string | undefined>();
  const election = world.member('b', {}, recording(world.connect(), known)).election<string>(NAME);
  // The watch begins after the caller of the campaign has its answer.
  const campaign = election.campaign().then(async (leadership) => leadership.publish('value'));
  await world.run(campaign);
  await world.pass(20);
  const revision = known.get(LEADER);
  expect(revision).toBeDefined();
  expect(BigInt(revision ?? 0) <= BigInt((await revisionOf(world, LEADER)) ?? 0)).toBe(true);
});
