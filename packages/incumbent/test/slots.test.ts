import { ManualClock, MemoryServer } from '@incumbent/memory';
import { expectNothingLeft } from '@incumbent/test-support/nothing-left';
import { describe, expect, it } from 'vitest';

import { Member, SlotElection, type SlotLeadership, StoreError } from '../src/index.ts';

const NAME = 'workers';
const TTL_MS = 6_000;

/** Keeps the warnings of stuck work out of the output of the tests. */
class Silent {
  debug(): void {}
  info(): void {}
  warn(): void {}
  error(): void {}
}

/** Members on a manual clock, and the slots that each of them leads. */
class Scene {
  readonly clock = new ManualClock();
  readonly server = new MemoryServer({ clock: this.clock });
  readonly members = new Map<string, Member>();
  readonly elections = new Map<string, SlotElection>();
  /** Who works in a slot, from the start of the work to its end. */
  readonly working: { readonly slot: number; readonly memberId: string; readonly term: bigint }[] = [];
  readonly outcomes: unknown[] = [];

  start(memberId: string, slots = 3, store = this.server.connect()): void {
    const member = new Member(store, { memberId, ttlMs: TTL_MS, clock: this.clock });
    const election = new SlotElection<unknown>(member, NAME, { slots, value: memberId });
    this.members.set(memberId, member);
    this.elections.set(memberId, election);
    election
      .lead((leadership) => this.work(leadership))
      .then(
        (value) => this.outcomes.push([memberId, value]),
        (error: unknown) => this.outcomes.push([memberId, error]),
      );
  }

  async work(leadership: SlotLeadership): Promise<string> {
    const { slot, memberId, term } = leadership;
    const job = { slot, memberId, term };
    this.working.push(job);
    expect(new Set(this.working.map((each) => each.slot)).size, 'one worker a slot').toBe(this.working.length);
    expect(new Set(this.working.map((each) => each.memberId)).size, 'one slot a worker').toBe(this.working.length);
    await leadership.ended;
    this.working.splice(this.working.indexOf(job), 1);
    return 'ended';
  }

  /** Who has each slot, as `0:a 1:b`. */
  get held(): string {
    return this.working
      .toSorted((a, b) => a.slot - b.slot)
      .map(({ slot, memberId }) => `${slot}:${memberId}`)
      .join(' ');
  }

  pass(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  /** How many candidates wait for each slot, without those who lead it. */
  waiting(slot: number): number {
    const keys = this.server.keys();
    return keys.filter((key) => key.startsWith(`elections/${NAME}.${slot}/candidates/`)).length - 1;
  }

  expireLease(memberId: string): void {
    const lease = this.server.entries().find(({ key }) => key === `members/${memberId}`)?.lease;
    this.server.expireLease(lease ?? '');
  }

  async close(): Promise<void> {
    await this.clock.run(Promise.all([...this.members.values()].map((member) => member.close())));
    expect(this.working).toEqual([]);
    expectNothingLeft(this);
  }
}

describe('slots', () => {
  it('go to as many members, the lowest first, each with a term of its own', async () => {
    const scene = new Scene();
    for (const id of ['a', 'b']) scene.start(id);
    await scene.pass(100);
    expect(scene.held).toBe('0:a 1:b');
    expect(scene.working.map(({ term }) => term)).toEqual([1n, 1n]);
    expect(scene.elections.get('b')?.leadership).toMatchObject({ slot: 1, term: 1n, memberId: 'b' });
    for (const id of ['c', 'd', 'e']) scene.start(id);
    await scene.pass(100);
    expect(scene.held).toBe('0:a 1:b 2:c');
    expect(scene.elections.get('d')?.leadership).toBeUndefined();
    await scene.close();
  });

  it('have one candidate waiting for each, however many members there are', async () => {
    const scene = new Scene();
    for (let i = 0; i < 10; i += 1) scene.start(`m${i}`);
    await scene.pass(1_000);
    expect([0, 1, 2].map((slot) => scene.waiting(slot))).toEqual([1, 1, 1]);
    await scene.close();
  });

  it('go to the member that waits within a failover, when their leader dies', async () => {
    const scene = new Scene();
    for (const id of ['a', 'b', 'c', 'd', 'e']) scene.start(id);
    await scene.pass(1_000);
    scene.expireLease('b');
    await scene.pass(TTL_MS);
    expect(scene.held).toBe('0:a 1:d 2:c');
    // The former leader waits behind e.
    scene.expireLease('a');
    await scene.pass(TTL_MS);
    expect(scene.held).toBe('0:e 1:d 2:c');
    scene.expireLease('c');
    await scene.pass(TTL_MS);
    expect(scene.held).toBe('0:e 1:d 2:b');
    await scene.close();
  });

  it('go to others, all of them, when all leaders and the next candidate die at once', async () => {
    const scene = new Scene();
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) scene.start(id);
    await scene.pass(1_000);
    for (const id of ['a', 'b', 'c', 'd']) scene.expireLease(id);
    await scene.pass(2 * TTL_MS);
    expect(scene.working).toHaveLength(3);
    await scene.close();
  });

  it('are given up by a member that closes, and taken at once', async () => {
    const scene = new Scene();
    for (const id of ['a', 'b', 'c', 'd']) scene.start(id);
    await scene.pass(100);
    await scene.clock.run(scene.members.get('a')!.shutdown());
    await scene.pass(100);
    expect(scene.held).toBe('0:d 1:b 2:c');
    expect(scene.outcomes).toEqual([['a', undefined]]);
    await scene.close();
  });

  it('are resigned by work that returns or throws, and lead settles as the work did', async () => {
    const scene = new Scene();
    const member = new Member(scene.server.connect(), { memberId: 'a', ttlMs: TTL_MS, clock: scene.clock });
    scene.members.set('a', member);
    const election = new SlotElection(member, NAME, { slots: 2 });
    expect(await scene.clock.run(election.lead(({ slot }) => `in slot ${slot}`))).toBe('in slot 0');
    const failed = new Error('no paper');
    const failing = election.lead(() => Promise.reject(failed));
    failing.catch(() => {});
    await expect(scene.clock.run(failing)).rejects.toBe(failed);
    expect(election.leadership).toBeUndefined();
    await scene.close();
  });

  it('and the place in the queue are given up when the signal aborts', async () => {
    const scene = new Scene();
    scene.start('a', 1);
    await scene.pass(100);
    const member = new Member(scene.server.connect(), { memberId: 'b', ttlMs: TTL_MS, clock: scene.clock });
    scene.members.set('b', member);
    const election = new SlotElection(member, NAME, { slots: 1 });
    const abort = new AbortController();
    const leading = election.lead((leadership) => scene.work(leadership), { signal: abort.signal });
    leading.catch(() => {});
    await scene.pass(100);
    await expect(election.lead(() => {})).rejects.toMatchObject({ code: 'ALREADY_CAMPAIGNING' });
    abort.abort(new Error('enough'));
    await expect(scene.clock.run(leading)).rejects.toThrow('enough');
    await scene.pass(100);
    expect(scene.server.keys().filter((key) => key.includes('/candidates/'))).toHaveLength(1);
    await scene.close();
  });

  it.each([false, true])('are taken also if a try is not answered (applied: %s)', async (isApplied) => {
    const scene = new Scene();
    const store = scene.server.connect();
    const swap = store.compareAndSwap.bind(store);
    let lost = 0;
    store.compareAndSwap = async (changes, options) => {
      const isClaim = changes.some(({ key }) => key === `elections/${NAME}.0/leader`);
      if (!isClaim || lost > 0) return swap(changes, options);
      lost += 1;
      if (isApplied) await swap(changes, options);
      throw new StoreError('TIMEOUT', 'unknown', 'no answer');
    };
    scene.start('a', 2, store);
    await scene.pass(TTL_MS);
    expect(lost).toBe(1);
    expect(scene.working.map(({ memberId }) => memberId)).toEqual(['a']);
    scene.start('b', 2);
    await scene.pass(2 * TTL_MS);
    expect(scene.working.map(({ memberId }) => memberId)).toEqual(['a', 'b']);
    expect(scene.outcomes).toEqual([]);
    await scene.close();
  });

  it.each(['another leadership', 'a leadership that it has resigned'])(
    'are resigned by work that throws LEADERSHIP_ENDED of %s',
    async (whose) => {
      const scene = new Scene();
      const member = new Member(scene.server.connect(), { memberId: 'a', ttlMs: TTL_MS, clock: scene.clock });
      scene.members.set('a', member);
      const other = await scene.clock.run(member.election('other').campaign());
      let works = 0;
      const failing = new SlotElection(member, NAME, { slots: 2 }).lead(async (leadership) => {
        works += 1;
        const ended = whose === 'another leadership' ? other : leadership;
        await ended.resign();
        if (works < 10) ended.assertValid();
      });
      failing.catch(() => {});
      await expect(scene.clock.run(failing)).rejects.toMatchObject({ code: 'LEADERSHIP_ENDED' });
      expect(works).toBe(1);
      await scene.close();
    },
  );

  it('are there for others while work of an aborted call does not stop, and that member campaigns again afterwards', async () => {
    const scene = new Scene();
    const member = new Member(scene.server.connect(), { memberId: 'a', ttlMs: TTL_MS, clock: scene.clock, logger: new Silent() });
    scene.members.set('a', member);
    const election = new SlotElection(member, NAME, { slots: 2 });
    const [abort, stuck] = [new AbortController(), Promise.withResolvers<void>()];
    const leading = election.lead(() => stuck.promise, { signal: abort.signal });
    leading.catch(() => {});
    await scene.pass(100);
    abort.abort(new Error('enough'));
    await expect(scene.clock.run(leading)).rejects.toThrow('enough');
    await expect(election.lead(() => {})).rejects.toMatchObject({ code: 'ALREADY_CAMPAIGNING' });
    for (const id of ['b', 'c']) scene.start(id, 2);
    await scene.pass(TTL_MS);
    expect(scene.held).toBe('0:b 1:c');
    stuck.resolve();
    await scene.clock.run(scene.members.get('b')!.shutdown());
    expect(await scene.clock.run(election.lead(({ slot }) => slot))).toBe(0);
    await scene.close();
  });

  it.each([0, 1.5, 101, -1])('are not %s', async (slots) => {
    const member = new Member(new Scene().server.connect());
    expect(() => new SlotElection(member, NAME, { slots })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    await member.close();
  });
});
