import { Member, openStore, type Group } from 'incumbent';
import { afterEach, expect, it, vi } from 'vitest';
import { Controller } from '../controller.ts';
import { Faults } from '../faults.ts';
import { type Address, addressShape, decode, ELECTION, GROUP, PARTITIONS } from '../keys.ts';

let closing = new AsyncDisposableStack();
afterEach(async () => {
  await closing.disposeAsync();
  closing = new AsyncDisposableStack();
});

it('goes on where the store was away for a moment', async () => {
  const faults = new Faults({ stopping: () => {}, refused: () => {} });
  let looks = 0;
  const through = faults.within(closing.use(await openStore('memory:')));
  const store: typeof through = {
    ...through,
    list: (prefix, options) => {
      if (prefix.startsWith(PARTITIONS)) looks += 1;
      return through.list(prefix, options);
    },
  };
  const member = closing.use(new Member(store, { memberId: 'b1', ttlMs: 60_000 }));
  const shown = { value: { url: 'http://b1' }, parse: addressShape };
  const brokers: Group<Address> = member.group<Address>(GROUP, shown);
  await brokers.join();
  const leadership = await member.election<Address>(ELECTION, shown).campaign();
  const controller = new Controller({ leadership, store, brokers, tell: () => Promise.resolve() });
  const ran = controller.run().catch((error: unknown) => error);
  await controller.createTopic({ topic: 'a', partitions: 1, replicationFactor: 1 });

  faults.cutOff();
  const [creating, before] = [controller.createTopic({ topic: 'b', partitions: 1, replicationFactor: 1 }), looks];
  await vi.waitFor(() => expect(looks).toBeGreaterThan(before + 2));
  expect(leadership.isValid()).toBe(true);
  faults.heal();
  await creating;
  const kept = await store.list(PARTITIONS, { timeoutMs: 1_000 });
  expect(kept.map(({ name }) => name)).toEqual(['a-0', 'b-0']);

  await leadership.resign();
  expect(await ran).toBeUndefined();
});

it('does not take a broker that has come back for one that is leaving, when the word that it was comes late', async () => {
  const store = closing.use(await openStore('memory:'));
  const join = async (memberId: string): Promise<{ readonly member: Member; readonly group: Group<Address> }> => {
    const member = closing.use(new Member(store, { memberId, ttlMs: 60_000 }));
    const group: Group<Address> = member.group<Address>(GROUP, { value: { url: `http://${memberId}` }, parse: addressShape });
    await group.join();
    return { member, group };
  };
  const { member, group: brokers } = await join('b1');
  const { member: before } = await join('b2');
  const leadership = await member.election<Address>(ELECTION, { value: { url: 'http://b1' }, parse: addressShape }).campaign();
  const controller = new Controller({ leadership, store, brokers, tell: () => Promise.resolve() });
  const ran = controller.run();
  await before.close();
  await join('b2');
  await controller.shutDown({ incarnation: before.incarnation });
  await vi.waitFor(() => controller.createTopic({ topic: 'a', partitions: 2, replicationFactor: 2 }));
  // A broker that is leaving would lead nothing after this.
  await controller.shutDown({ incarnation: 'of nobody' });
  const kept = await store.list(PARTITIONS, { timeoutMs: 1_000 });
  expect(kept.map((entry) => decode(entry).partition.leader)).toEqual(['b1', 'b2']);

  await controller.shutDown({ incarnation: member.incarnation });
  const left = await store.list(PARTITIONS, { timeoutMs: 1_000 });
  expect(left.map((entry) => decode(entry).partition.leader)).toEqual(['b2', 'b2']);
  await leadership.resign();
  await ran;
});
