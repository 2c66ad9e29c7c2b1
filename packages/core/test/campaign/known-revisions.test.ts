/** The revisions of its own keys that a member knows when it begins to watch them. */

import { describe, expect, it } from 'vitest';
import type { Entry, Key, KeyWatchOptions, Leadership, Store } from '../../src/index.ts';
import { behind, led } from '../support/led.ts';
import { relay } from '../support/relay.ts';
import { track, type Tracked } from '../support/track.ts';
import { CANDIDATES, LEADER, NAME, TERM, TTL_MS, World, type WorldOptions } from '../support/world.ts';

/** Shows only what changes after a known revision, as a watch on etcd does. */
function sinceThen(store: Store): Store {
  async function* watch(key: Key, options: KeyWatchOptions = {}): AsyncGenerator<Entry | undefined, void, undefined> {
    for await (const entry of store.watch(key, options)) if (options.since === undefined || entry?.revision !== options.since) yield entry;
  }
  return relay(store, { watch });
}

/** Records the revision that is known at the start of each watch of a key of the election. */
function recording(store: Store, known: Map<string, string | undefined>): Store {
  return relay(store, {
    watch: (key, options) => {
      if (key.startsWith('elections/')) known.set(key.startsWith(`${CANDIDATES}/b`) ? 'own' : key, options?.since);
      return store.watch(key, options);
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

describe('behind one that a handover has elected, the next in line', () => {
  interface Promoted {
    readonly world: World;
    readonly known: Map<string, string | undefined>;
    readonly next: Tracked<Leadership>;
  }

  /** The leader has handed over to `b`, behind which `c` waits. */
  async function promoted(options: WorldOptions): Promise<Promoted> {
    const { world, leadership } = await led(options);
    await behind(world, 'b');
    const known = new Map<string, string | undefined>();
    const store = recording(sinceThen(world.connect()), known);
    const next = track(world.member('c', {}, store).election(NAME).campaign());
    await world.pass(20);
    known.clear();
    await world.run(leadership.handover());
    await world.pass(20);
    return { world, known, next };
  }

  it('knows the revision of the term from the record, where all keys of a swap have one revision', async () => {
    const { world, known } = await promoted({ swapSharesRevision: true });
    expect(known).toEqual(new Map([[TERM, await revisionOf(world, TERM)]]));
  });

  it('does not, where each key has its own', async () => {
    const { known } = await promoted({ swapSharesRevision: false });
    expect(known).toEqual(new Map([[TERM, undefined]]));
  });

  it.each([
    ['reads the term when the leader crashes, and claims', 0, 1],
    ['has read the term by its next check, and claims without a read', 4 * TTL_MS, 0],
  ])('%s', async (_, waitedMs, reads) => {
    const { world, next } = await promoted({ swapSharesRevision: true });
    await world.pass(waitedMs);
    const before = world.server.requests;
    world.server.expireLease(world.leaseOf('b'));
    await world.pass(20);
    const after = world.server.requests;
    expect(next.value?.term).toBe(3n);
    expect([after.read - before.read, after.list - before.list, after.compareAndSwap - before.compareAndSwap]).toEqual([reads, 0, 1]);
  });
});
