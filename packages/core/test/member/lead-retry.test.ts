import { describe, expect, it } from 'vitest';
import type { MemoryStore } from '@incumbent/memory';
import { type Election, type Member, StoreError } from '../../src/index.ts';
import { after } from '../support/led.ts';
import { quiet, track } from '../support/track.ts';
import { NAME, TTL_MS, World } from '../support/world.ts';

/** One member, which has a connection of its own. */
function alone(): { readonly world: World; readonly store: MemoryStore; readonly member: Member; readonly election: Election } {
  const world = new World();
  const store = world.connect();
  const member = world.member('a', {}, store);
  return { world, store, member, election: member.election(NAME) };
}

describe('lead', () => {
  it('whose work fails as the store is away, leads again when it is back, and says so', async () => {
    const { world, store, election } = alone();
    const terms: bigint[] = [];
    const leading = track(
      election.lead(async ({ term }) => {
        terms.push(term);
        await after(world, 1_000);
        return (await store.read('app/state', { timeoutMs: 500 })) ?? 'nothing';
      }),
    );
    await world.until(() => election.leadership !== undefined);
    store.link.refuse();
    await world.pass(3 * TTL_MS);
    expect(leading.state).toBe('pending');
    expect(world.events.about('the work failed')).toMatchObject([{ election: NAME, term: '1' }]);
    store.link.heal();
    await world.pass(2 * TTL_MS);
    expect([leading.value, terms]).toEqual(['nothing', [1n, 2n]]);
    await world.close();
    world.expectNothingLeft();
  });

  it('waits longer after each failure of its work, and from anew after work that ran for a ttl', async () => {
    const { world, election } = alone();
    const starts: number[] = [];
    void quiet(
      election.lead(async ({ ended }) => {
        starts.push(world.clock.monotonic());
        if (starts.length === 6) await Promise.race([ended, after(world, 2 * TTL_MS)]);
        throw new StoreError('UNAVAILABLE', 'notSent', 'later');
      }),
    );
    await world.until(() => starts.length === 7, 'seven works', 600_000, 10);
    const waits = starts.slice(1).map((start, i) => start - Number(starts[i]));
    expect(Number(waits[4])).toBeGreaterThan(5 * Number(waits[0]));
    expect(Number(waits[5]) - 2 * TTL_MS).toBeLessThan(2 * Number(waits[0]));
    await world.close();
    world.expectNothingLeft();
  });

  it.each([
    ['an error that a retry does not solve', new StoreError('PERMISSION_DENIED', 'refused', 'no'), {}],
    ["the work's own error", new Error('mine'), {}],
    ['every error without `retry`', new StoreError('UNREACHABLE', 'notSent', 'away'), { retry: false }],
    ['what `retry` does not accept', new StoreError('UNREACHABLE', 'notSent', 'away'), { retry: () => false }],
  ] as const)('rejects with %s', async (_, error, options) => {
    const { world, election } = alone();
    await expect(
      world.run(
        election.lead(() => {
          throw error;
        }, options),
      ),
    ).rejects.toBe(error);
  });

  it('rejects with the error of the work if `retry` throws, whose own error goes to an event', async () => {
    const { world, election } = alone();
    const [error, mistake] = [new Error('no such table'), new TypeError('cannot read properties of undefined')];
    const retry = (): never => {
      throw mistake;
    };
    await expect(world.run(election.lead(() => Promise.reject(error), { retry }))).rejects.toBe(error);
    expect(world.events.about('a subscriber threw')).toMatchObject([{ election: NAME, err: mistake }]);
    await world.close();
    world.expectNothingLeft();
  });

  it.each(['aborts', 'closes'])('ends while it waits to campaign again, when its caller %s', async (how) => {
    const { world, election, member } = alone();
    const caller = new AbortController();
    let starts = 0;
    const leading = track(
      election.lead(
        () => {
          starts += 1;
          throw new Error('mine');
        },
        { retry: () => true, signal: caller.signal },
      ),
    );
    await world.until(() => starts === 8, 'eight works', 600_000, 10);
    await world.pass(100);
    if (how === 'aborts') caller.abort(new Error('enough'));
    else await world.run(member.close());
    await world.pass();
    expect([leading.state, starts]).toEqual([how === 'aborts' ? 'rejected' : 'resolved', 8]);
    await world.close();
    world.expectNothingLeft();
  });

  it.each([true, 5, 'always'])('refuses a `retry` that is no function: %s', async (retry) => {
    const { election } = alone();
    await expect(Reflect.apply(election.lead, election, [() => {}, { retry }])).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
});
