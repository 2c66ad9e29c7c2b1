/** Candidates on a store that also reads the queue and the term when it adds an entry. */

import { describe, expect, it } from 'vitest';
import {
  byPriority,
  type ElectionOptions,
  type EnqueueOptions,
  type Entry,
  type Key,
  type Leadership,
  type Store,
} from '../../src/index.ts';
import { led } from '../support/led.ts';
import { relay, timeout } from '../support/relay.ts';
import { track, type Tracked } from '../support/track.ts';
import { CANDIDATES, LEADER, NAME, TERM, World } from '../support/world.ts';

/** The calls that elections make, in order. */
type Calls = string[];

function looking(world: World, calls: Calls = []): Store {
  const server = world.connect();
  const entryAt = (key: Key): Entry | undefined => world.server.entries().find((entry) => entry.key === key);
  const noting =
    <A extends readonly unknown[], R>(name: string, call: (...args: A) => R) =>
    (...args: A): R => {
      calls.push(name);
      return call(...args);
    };
  return relay(server, {
    enqueue: noting('enqueue', async (prefix, name, value, lease, { look, ...call }: EnqueueOptions = {}) => {
      const existed = entryAt(`${prefix}/${name}`) !== undefined;
      const entry = await server.enqueue(prefix, name, value, lease, call);
      const ahead = world.server.entries().filter(({ key, order }) => key.startsWith(`${prefix}/`) && order < entry.order);
      if (!existed && look !== undefined) look.seen(ahead.slice(-look.last), entryAt(look.key));
      return entry;
    }),
    list: noting('list', (...args) => server.list(...args)),
    read: noting('read', (...args) => server.read(...args)),
    compareAndSwap: noting('swap', (...args) => server.compareAndSwap(...args)),
  });
}

/** Without the calls of the session, which come before. */
function sinceJoining(calls: Calls): Calls {
  return calls.slice(calls.indexOf('enqueue'));
}

function campaign(world: World, store: Store, memberId: string, options?: ElectionOptions): Tracked<Leadership> {
  return track(world.member(memberId, {}, store).election(NAME, options).campaign());
}

describe('a candidate', () => {
  it('is elected by two calls if nobody is ahead', async () => {
    const world = new World();
    const calls: Calls = [];
    await world.elect(world.member('a', {}, looking(world, calls)));
    expect(sinceJoining(calls)).toEqual(['enqueue', 'swap']);
  });

  it('waits behind the leader after one call, and leads when that one resigns', async () => {
    const { world, leadership } = await led();
    const calls: Calls = [];
    const next = campaign(world, looking(world, calls), 'b');
    await world.pass(20);
    expect([sinceJoining(calls), next.state]).toEqual([['enqueue'], 'pending']);
    await world.run(leadership.resign());
    await world.until(() => next.state === 'resolved', 'the next one leads');
  });

  it('that does not wait leaves the queue again', async () => {
    const { world } = await led();
    const election = world.member('b', {}, looking(world)).election(NAME);
    expect(await world.run(election.tryLead(() => expect.unreachable('somebody else leads')))).toBeUndefined();
    expect(world.queue()).toEqual(['a']);
  });

  it('whose claim meets a newer term than it was shown waits for that leader, and leads after it', async () => {
    const world = new World();
    const calls: Calls = [];
    const store = looking(world, calls);
    const quick = world.member('quick').election(NAME);
    let first: Promise<Leadership> | undefined;
    const late = relay(store, {
      compareAndSwap: async (changes, options) => {
        const isClaim = changes.some(({ key, expect: revision }) => key === LEADER && revision === null);
        if (isClaim && first === undefined) await (first = quick.campaign());
        return store.compareAndSwap(changes, options);
      },
    });
    const slow = campaign(world, late, 'slow');
    await world.until(() => world.server.keys().includes(LEADER));
    await world.pass(100);
    expect(sinceJoining(calls).filter((name) => name === 'swap')).toHaveLength(1);
    expect(slow.state).toBe('pending');
    await world.run(first?.then(async (leadership) => leadership.resign()) ?? Promise.resolve());
    await world.until(() => slow.state === 'resolved', 'the slow one leads');
  });

  it.each<[string, (world: World) => void, string]>([
    ['term was written by somebody else', (world) => world.put(TERM, 'hello'), 'FOREIGN_DATA'],
    [
      'queue follows another order',
      (world) => world.server.put(`${CANDIDATES}/x~i~1~priority~5`, new TextEncoder().encode('{"v":1}')),
      'SUCCESSION_MISMATCH',
    ],
  ])('is refused if the %s, after it has left the queue', async (_, plant, code) => {
    const world = new World();
    plant(world);
    const before = world.queue();
    const election = world.member('a', {}, looking(world)).election(NAME);
    const queueAtEnd = election.campaign().then(
      () => expect.unreachable('it must not lead'),
      (error: unknown) => ({ error, queue: world.queue() }),
    );
    expect(await world.run(queueAtEnd)).toMatchObject({ error: { code }, queue: before });
  });

  it('whose entry was added without an answer finds it there, and reads by itself', async () => {
    const world = new World();
    const calls: Calls = [];
    const store = looking(world, calls);
    let isLost = false;
    const losing = relay(store, {
      enqueue: async (...args) => {
        const entry = await store.enqueue(...args);
        if (isLost) return entry;
        isLost = true;
        throw timeout();
      },
    });
    await world.run(world.member('a', {}, losing).election(NAME).campaign());
    expect(calls.filter((name) => name !== 'swap')).toEqual(['enqueue', 'enqueue', 'list', 'read']);
  });

  it('that follows by priority reads the whole queue', async () => {
    const world = new World();
    const looks: unknown[] = [];
    const server = world.connect();
    const store = relay(server, {
      enqueue: (prefix, name, value, lease, options) => {
        if (prefix === CANDIDATES) looks.push(options?.look);
        return server.enqueue(prefix, name, value, lease, options);
      },
    });
    await world.run(
      world
        .member('a', {}, store)
        .election(NAME, { succession: byPriority(1) })
        .campaign(),
    );
    expect(looks).toEqual([undefined]);
  });
});
