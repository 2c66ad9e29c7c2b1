/** A program that closes the store as soon as the `lead` of a member that stops has resolved. */

import { describe, expect, it } from 'vitest';
import type { Leadership, Member } from '../../src/index.ts';
import { after } from '../support/led.ts';
import { quiet, track } from '../support/track.ts';
import { NAME, TTL_MS, World } from '../support/world.ts';

const DRAIN_MS = 1_000;
const untilEnded = async ({ ended }: Leadership): Promise<void> => void (await ended);

/** Calls that end with the member, and what they are called. */
const leads: readonly [string, (member: Member) => Promise<unknown>][] = [
  ['lead', (member) => member.election(NAME).lead(untilEnded)],
  ['lead with once', (member) => member.election(NAME).lead(untilEnded, { once: true })],
  ['tryLead', (member) => member.election(NAME).tryLead(untilEnded)],
  ['a lead that waits for another member', (member) => member.election('led').lead(untilEnded)],
  ['several leads', (member) => Promise.all(['x', 'y', 'led'].map((name) => member.election(name).lead(untilEnded)))],
];

describe('when its member stops', () => {
  it.each(leads)('%s resolves after the lease has ended: the store may be closed at once', async (_, lead) => {
    const world = new World();
    const other = world.member('other');
    await world.run(other.election('led').campaign());
    const store = world.connect({ latencyMs: 5 });
    const member = world.member('a', {}, store);
    const program = async (): Promise<void> => {
      await lead(member);
      await store.close();
    };
    const running = track(program());
    await world.pass(500);
    void member.shutdown();
    await world.pass(500);
    expect(running.state).toBe('resolved');
    await world.run(other.close());
    world.expectNothingLeft();
  });

  it('a lead that is called while it stops resolves after the lease has ended', async () => {
    const world = new World();
    const store = world.connect({ latencyMs: 5 });
    const member = world.member('a', {}, store);
    const election = member.election('x');
    await world.run(election.lead(() => {}));
    void member.close();
    const late = election.lead(untilEnded).then(() => store.close());
    await world.run(late);
    world.expectNothingLeft();
  });

  it('a lead in the work of another one resolves while that work drains, and does not hold it up', async () => {
    const world = new World();
    const store = world.connect({ latencyMs: 5 });
    const member = world.member('a', {}, store);
    const outer = member.election('outer').lead(async () => {
      await member.election('inner').lead(untilEnded);
      await after(world, 100);
    });
    const running = track(outer.then(() => store.close()));
    await world.until(() => member.election('inner').leadership !== undefined);
    expect(await world.timed(member.shutdown())).toBeLessThan(DRAIN_MS);
    await world.pass(100);
    expect(running.state).toBe('resolved');
    expect(world.events.about('did not stop')).toEqual([]);
    world.expectNothingLeft();
  });

  it('the leads of two members in one another’s work resolve within the drain', async () => {
    const world = new World();
    const [a, b] = [world.member('a'), world.member('b')];
    const running = track(
      a.election('outer').lead(async () => {
        await b.election('middle').lead(async () => {
          await a.election('inner').lead(untilEnded);
        });
      }),
    );
    await world.until(() => a.election('inner').leadership !== undefined);
    expect(await world.timed(Promise.all([a.shutdown(), b.shutdown()]))).toBeLessThan(DRAIN_MS);
    expect(running.state).toBe('resolved');
    world.expectNothingLeft();
  });

  it('a lead whose work is stuck, or whose store is away, resolves with the close, which is bounded', async () => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    const leading = track(quiet(member.election(NAME).lead(() => new Promise(() => {}))));
    await world.pass(100);
    store.link.cutOff();
    await world.run(member.shutdown());
    await world.pass();
    expect(leading).toEqual({ state: 'resolved', value: undefined });
    await world.pass(2 * TTL_MS);
    world.expectNothingLeft();
  });
});

it('the value of work that returned is there at once: the member keeps its lease', async () => {
  const world = new World();
  const member = world.member('a');
  expect(
    await world.run(
      member.election(NAME).lead(() => 'done'),
      0,
    ),
  ).toBe('done');
  expect(member.state).toBe('live');
  await world.close();
});
