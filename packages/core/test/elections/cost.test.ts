/** The number of requests that elections make, as their store counts them, without renewals. */

import type { Message, Requests } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import type { Leadership, Member, Store } from '../../src/index.ts';
import { onAbort } from '../../src/async/abort.ts';
import { relay, type Calls } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { LEADER, NAME, TERM, TTL_MS, World, type WorldOptions } from '../support/world.ts';

const LATENCY_MS = 1;
/** A leader looks for its successor one second after its election. */
const LOOKS_AFTER_MS = 1_100;

function total({ renewLease: _, ...others }: Requests): number {
  return Object.values(others).reduce((sum, count) => sum + count, 0);
}

/** A leader and the others in the queue behind it, each on a link of its own. */
class Race {
  readonly world: World;
  readonly members: readonly Member[];
  leader!: Leadership;
  #atGone: number | undefined;
  #atElected: number | undefined;

  constructor(candidates: number, options: WorldOptions, wrap: (store: Store) => Store) {
    this.world = new World(options);
    this.members = Array.from({ length: candidates }, (_, i) =>
      this.world.member(`m${i}`, {}, wrap(this.world.connect({ latencyMs: () => this.#travel() }))),
    );
  }

  /** Called for every message, also for the answer to the request that deleted the leader's key. */
  #travel(_?: Message): number {
    if (this.leader !== undefined && this.#atGone === undefined && !this.world.server.keys().includes(LEADER))
      this.#atGone = this.#requests();
    return LATENCY_MS;
  }

  #requests(): number {
    return total(this.world.server.requests);
  }

  async start(): Promise<void> {
    const [first, ...others] = this.members;
    this.leader = await this.world.run(first!.election(NAME).campaign());
    for (const member of others) {
      const { signal } = new AbortController();
      void member
        .election(NAME)
        .campaign({ signal })
        .then(
          () => {
            this.#atElected ??= this.#requests();
          },
          () => {},
        );
    }
    await this.world.until(() => this.world.queue().length === this.members.length, 'all are in the queue', 60_000, 10);
    await this.world.pass(100);
  }

  /** From the leader's key gone, or from `from` where it never goes, to the next one elected. */
  async cost(from?: number): Promise<number> {
    await this.world.until(() => this.#atElected !== undefined, 'another one is elected');
    return (this.#atElected ?? Number.NaN) - (this.#atGone ?? from ?? Number.NaN);
  }

  now(): number {
    return this.#requests();
  }
}

async function race(candidates: number, options: WorldOptions = {}, wrap: (store: Store) => Store = (store) => store): Promise<Race> {
  const made = new Race(candidates, options, wrap);
  await made.start();
  return made;
}

/** Counts the reads of each member. */
function countReads(counts: number[]): (behind: Store) => Store {
  return (behind) => {
    const at = counts.push(0) - 1;
    return relay(behind, {
      read: (key, options) => {
        counts[at] = (counts[at] ?? 0) + 1;
        return behind.read(key, options);
      },
    });
  };
}

/** As where a notification says only that something has changed. */
function silent(behind: Store): Store {
  return relay(behind, { capabilities: { ...behind.capabilities, watchTellsValues: false } });
}

describe.each([2, 100, 500])('a failover among %i candidates takes the store at most 3 requests', (candidates) => {
  it('when the lease of the leader ends: the next candidate knows the term, which is swapped', async () => {
    const made = await race(candidates);
    made.world.server.expireLease(made.world.leaseOf('m0'));
    expect(await made.cost(made.now())).toBe(1);
  });

  it('when the lease of the leader ends, on a store whose watches carry no values: the term is read, and swapped', async () => {
    const made = await race(candidates, {}, silent);
    made.world.server.expireLease(made.world.leaseOf('m0'));
    expect(await made.cost(made.now())).toBe(2);
  });

  it('when the leader resigns: the watch of the next candidate shows how the term ended, and the term is swapped', async () => {
    const made = await race(candidates);
    void made.leader.resign();
    expect(await made.cost()).toBe(1);
  });

  it('when the leader resigns, on a store whose watches carry no values: the term is read, and swapped', async () => {
    const made = await race(candidates, {}, silent);
    void made.leader.resign();
    expect(await made.cost()).toBe(2);
  });

  it('when the leader hands over to the next, in two steps, of one swap each', async () => {
    const made = await race(candidates, { assignableLease: false, revisionsSurviveDeletion: false });
    const swaps = made.world.server.requests.compareAndSwap;
    void made.leader.handover();
    expect(await made.cost()).toBeLessThanOrEqual(3);
    expect(made.world.server.requests.compareAndSwap - swaps).toBe(2);
  });
});

describe.each([2, 500])('a handover in one swap among %i candidates', (candidates) => {
  it('never leaves the key absent, and takes no more requests than a failover after its swap', async () => {
    const made = await race(candidates);
    const swaps = made.world.server.requests.compareAndSwap;
    const handing = track(made.leader.handover());
    await made.world.until(() => made.world.server.requests.compareAndSwap > swaps, 'the swap has arrived');
    expect(await made.cost(made.now())).toBeLessThanOrEqual(3);
    await made.world.pass(10);
    expect(handing.state).toBe('resolved');
    expect(made.world.json(LEADER)).toMatchObject({ memberId: 'm1', term: '2' });
  });
});

describe('the candidate right behind a leader that was first when its term began', () => {
  /** Ends each leadership, in the order of joining, but of the last two. */
  async function pass(made: Race, end: (leader: Leadership, index: number) => unknown): Promise<number> {
    const before = made.world.server.requests.list;
    for (const [index, member] of made.members.slice(0, -2).entries()) {
      const leader = member.election(NAME).leadership;
      expect(leader?.isValid(), `m${index} leads`).toBe(true);
      void end(leader!, index);
      await made.world.pass(50);
    }
    return made.world.server.requests.list - before;
  }

  it('never lists the queue again, however long the queue is and however the terms end', async () => {
    const ends = await race(20);
    const lists = await pass(ends, (leader, index) =>
      index % 2 === 0 ? leader.resign() : ends.world.server.expireLease(ends.world.leaseOf(`m${index}`)),
    );
    expect(lists).toBe(0);
  });

  it.each([
    ['one swap', {}],
    ['two steps', { assignableLease: false, revisionsSurviveDeletion: false }],
  ] as const)('nor after handovers in %s, where the leader alone does', async (_, options) => {
    const made = await race(9, options);
    expect(await pass(made, (leader, index) => (index % 2 === 0 ? leader.handover() : leader.resign()))).toBe(4);
  });
});

describe('the term', () => {
  /** How many of the members watch it now. */
  function counted(now: { watches: number }): (behind: Store) => Store {
    return (behind) =>
      relay(behind, {
        watch: (key, options) => {
          if (key !== TERM) return behind.watch(key, options);
          now.watches += 1;
          onAbort(options?.signal, () => {
            now.watches -= 1;
          });
          return behind.watch(key, options);
        },
      });
  }

  it('is watched only by the next in line, as one leader follows another', async () => {
    const now = { watches: 0 };
    const made = await race(7, {}, counted(now));
    const watches: number[] = [];
    for (const member of made.members.slice(0, -1)) {
      watches.push(now.watches);
      void member.election(NAME).leadership!.resign();
      await made.world.pass(50);
    }
    expect(watches).toEqual([1, 1, 1, 1, 1, 1]);
    expect(now.watches).toBe(0);
  });

  it('is watched by nobody on a store where that costs a read at every change', async () => {
    const now = { watches: 0 };
    const made = await race(3, {}, (behind) => silent(counted(now)(behind)));
    expect(now.watches).toBe(0);
    await made.world.run(made.leader.resign());
    await made.world.pass(50);
    expect([now.watches, made.world.json(LEADER)]).toMatchObject([0, { memberId: 'm1' }]);
  });
});

describe('a candidate that waited far back, behind the member that leads now', () => {
  it('does not list the queue while that member leads; the leader looks for its successor once a minute; neither writes', async () => {
    const made = await race(12);
    const { server } = made.world;
    for (const member of made.members.slice(1, -2)) await made.world.run(member.close());
    await made.world.run(made.leader.resign());
    await made.world.pass(100);
    expect(made.world.json(LEADER)).toMatchObject({ memberId: 'm10' });
    const before = server.requests;
    await made.world.pass(61 * TTL_MS);
    expect(server.requests.list - before.list).toBeLessThanOrEqual((61 * TTL_MS) / 60_000 + 1);
    expect(server.requests.compareAndSwap).toBe(before.compareAndSwap);
  });
});

describe('an end on purpose rests on what the leader knows', () => {
  it('resigning is one swap', async () => {
    const made = await race(1);
    const before = made.now();
    await made.world.run(made.leader.resign());
    expect(made.now() - before).toBe(1);
    expect(made.world.queue()).toEqual([]);
  });

  it.each([true, false])(
    'handing over is a look at the queue and a swap; the successor reads nothing (swapSharesRevision: %s)',
    async (shares) => {
      const made = await race(2, { swapSharesRevision: shares });
      const successor = made.members[1]!.election(NAME);
      const before = made.world.server.requests;
      await made.world.run(made.leader.handover());
      await made.world.until(() => successor.leadership !== undefined, 'the successor leads');
      const after = made.world.server.requests;
      expect([after.list - before.list, after.compareAndSwap - before.compareAndSwap, after.read - before.read]).toEqual([1, 1, 0]);
      expect(total(after) - total(before)).toBe(2);
      // Until its watches have begun.
      await made.world.pass(10);
      const then = made.now();
      await made.world.run(successor.leadership!.resign());
      expect(made.now() - then).toBe(1);
    },
  );

  it('a handover past the next in line makes its successor lead without a read, or after reading two keys', async () => {
    for (const [shares, reads] of [
      [true, 0],
      [false, 2],
    ] as const) {
      const counts: number[] = [];
      const made = await race(3, { swapSharesRevision: shares }, countReads(counts));
      counts.fill(0);
      await made.world.run(made.leader.handover('m2'));
      await made.world.until(() => made.members[2]!.election(NAME).leadership !== undefined, 'the successor leads');
      expect(counts[2]).toBe(reads);
    }
  });

  it('where watches carry no values, a leader by a handover reads its term when it looks for its successor, and resigns by one swap', async () => {
    const made = await race(2, { swapSharesRevision: true }, silent);
    const successor = made.members[1]!.election(NAME);
    await made.world.run(made.leader.handover());
    const before = made.world.server.requests;
    await made.world.until(() => successor.leadership !== undefined, 'the successor leads');
    expect(made.world.server.requests.read - before.read).toBe(0);
    await made.world.pass(LOOKS_AFTER_MS);
    const looked = made.world.server.requests;
    // More looks may follow, as nobody waits.
    expect(looked.read - before.read).toBe(1);
    await made.world.run(successor.leadership!.resign());
    const after = made.world.server.requests;
    expect([after.read - looked.read, after.compareAndSwap - looked.compareAndSwap]).toEqual([0, 1]);
    expect(made.world.json(TERM)).toMatchObject({ term: '2', ended: { reason: 'resigned' } });
  });

  it('what has changed since is read, and the next swap rests on that', async () => {
    const made = await race(1);
    made.world.put(LEADER, made.world.json(LEADER));
    await made.world.run(made.leader.resign());
    expect(made.world.server.keys()).not.toContain(LEADER);
    expect(made.world.queue()).toEqual([]);
  });
});

describe('a thousand elections of one member', () => {
  const names = Array.from({ length: 1_000 }, (_, i) => `partition-${i}`);

  it('make less than one request in two seconds while nothing happens, besides the 0.3 renewals a second', async () => {
    const world = new World();
    const member = world.member('m');
    await world.run(Promise.all(names.map((name) => member.election(name).campaign())));
    const before = world.server.requests;
    await world.pass(60 * TTL_MS);
    const after = world.server.requests;
    // The looks for successors: ten at first, and then one in twelve seconds.
    expect(total(after) - total(before)).toBeLessThanOrEqual(10 + (60 * TTL_MS) / 12_000);
    expect(total(after) - total(before)).toBeGreaterThan(40);
    expect(after.list - before.list).toBe(total(after) - total(before));
    expect(after.renewLease - before.renewLease).toBe(180);
    await world.close();
    world.expectNothingLeft();
  });

  it('lose their session at once, and all lead again within ttl + 5 s, with 32 calls in flight at the most, and lose nothing again', async () => {
    const world = new World();
    const calls = new InFlight();
    const member = world.member('m', {}, calls.count(world.connect({ latencyMs: LATENCY_MS })));
    const losses = new Map<string, number>();
    for (const name of names)
      track(member.election(name).lead(async ({ ended }) => losses.set(name, (losses.get(name) ?? 0) + Number((await ended).lost))));
    const leads = (): number => names.filter((name) => member.election(name).leadership !== undefined).length;
    await world.until(() => leads() === names.length, 'all lead', 60_000, 100);
    expect(calls.most).toBeLessThanOrEqual(32);

    world.server.expireLease(world.leaseOf('m'));
    await world.pass(100);
    expect(leads()).toBe(0);
    await world.pass(TTL_MS + 5_000 - 100);
    expect(leads()).toBe(names.length);
    await world.pass(TTL_MS);
    expect(leads()).toBe(names.length);
    expect([...losses.values()].filter((count) => count !== 1)).toEqual([]);
    expect(calls.most).toBeLessThanOrEqual(32);
    await world.close();
    world.expectNothingLeft();
  });
});

/** Counts the running calls of elections. Calls of the session never wait for those. */
class InFlight {
  most = 0;
  #now = 0;

  count(behind: Store): Store {
    const counted =
      <A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        this.#now += 1;
        this.most = Math.max(this.most, this.#now);
        return call(...args).finally(() => {
          this.#now -= 1;
        });
      };
    const swap = counted(behind.compareAndSwap.bind(behind));
    const calls: Partial<Calls> = {
      compareAndSwap: async (changes, options) =>
        changes[0]?.key.startsWith('members/') === true ? behind.compareAndSwap(changes, options) : swap(changes, options),
      enqueue: counted((...a) => behind.enqueue(...a)),
      read: counted((...a) => behind.read(...a)),
      list: counted((...a) => behind.list(...a)),
    };
    return relay(behind, calls);
  }
}
