/** A candidate's own entry that changes at the moment in which its wait ends. */

import { expect, it } from 'vitest';
import type { Entry, KeyWatchOptions, Store } from '../../src/index.ts';
import { relay } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { CANDIDATES, NAME, World } from '../support/world.ts';

/** Tells that an entry of this member has gone so many microtasks later than it would. */
function lateBy(microtasks: number, member: string, store: Store): Store {
  async function* watch(key: string, options?: KeyWatchOptions): AsyncGenerator<Entry | undefined, void, undefined> {
    for await (const entry of store.watch(key, options)) {
      if (entry === undefined) for (let left = microtasks; left > 0; left -= 1) await Promise.resolve();
      yield entry;
    }
  }
  const isOf = (key: string): boolean => key.startsWith(`${CANDIDATES}/${member}`);
  return relay(store, { watch: (key, options) => (isOf(key) ? watch(key, options) : store.watch(key, options)) });
}

it.each(Array.from({ length: 24 }, (_, index) => index))(
  'that was deleted together with the one ahead, and whose event comes %i microtasks later, is created again',
  async (microtasks) => {
    const world = new World();
    await world.elect(world.member('leader'));
    const p = track(world.member('p').election(NAME).campaign());
    await world.pass(20);
    const b = track(
      world
        .member('b', {}, lateBy(microtasks, 'b', world.connect()))
        .election(NAME)
        .campaign(),
    );
    await world.pass(20);
    expect(world.queue()).toEqual(['leader', 'p', 'b']);
    // As a claim after its timeout does, or an operator.
    for (const member of ['p', 'b']) world.server.deleteKey(world.server.keys().find((key) => key.startsWith(`${CANDIDATES}/${member}`))!);
    await world.pass(60_000);
    expect([p.state, b.state]).toEqual(['pending', 'pending']);
    expect(world.queue().toSorted()).toEqual(['b', 'leader', 'p']);
  },
);
