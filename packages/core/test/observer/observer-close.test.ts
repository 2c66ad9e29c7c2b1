import { describe, expect, it } from 'vitest';
import { drain, leaderRecord, shown } from '../support/observed.ts';
import { track } from '../support/track.ts';
import { LEADER, World } from '../support/world.ts';

describe('closing an observer', () => {
  it('ends its views and its watch, rejects ready if it comes before, and is idempotent', async () => {
    const world = new World();
    const store = world.connect();
    store.link.cutOff();
    const observer = world.observer({}, store);
    const [ready, reading] = [track(observer.ready), track(drain(observer))];
    await world.pass(1_000);
    await world.run(Promise.all([observer.close(), observer.close()]));
    expect([ready.error, reading.state]).toMatchObject([{ code: 'OBSERVER_CLOSED' }, 'resolved']);
    store.link.heal();
    await world.pass();
    world.expectNothingLeft();
  });

  it('before its first state rejects nothing that nobody handles, if nobody awaits ready', async () => {
    const world = new World();
    const observer = world.observer({}, world.connect({ latencyMs: 1 }));
    // An unhandled rejection fails this test run.
    void observer.ready;
    await world.run(observer.close());
    await world.pass(1);
    world.expectNothingLeft();
  });

  it('ends what it knows: it does not show a leader for ever', async () => {
    const world = new World();
    world.put(LEADER, leaderRecord(1));
    const observer = world.observer();
    const before = shown(observer);
    await world.run(observer.ready);
    const early = observer.views();
    await world.run(observer.close());
    expect(observer.current).toMatchObject({ state: 'unknown', cause: { code: 'OBSERVER_CLOSED' }, last: { state: 'leader', term: 1n } });
    const after = shown(observer);
    await world.run(drain(observer));
    expect([before, after]).toEqual([['unknown', 'm 1'], ['unknown']]);
    expect(await early.next()).toEqual({ done: true, value: undefined });
  });

  it('in the middle of a read leaves nothing, and no rejection that nobody handles', async () => {
    for (let atMs = 0; atMs < 8; atMs += 1) {
      const world = new World();
      const observer = world.observer({}, world.connect({ latencyMs: 1 }));
      observer.subscribe(() => {});
      await world.pass(atMs);
      await world.run(observer.close());
      await world.pass(5_000);
      world.expectNothingLeft();
    }
  });

  it('that was never used takes no time, and leaves the store open', async () => {
    const world = new World();
    const store = world.connect();
    await using observer = world.observer({}, store);
    await observer.close();
    expect(await world.run(store.read(LEADER, { timeoutMs: 100 }))).toBeUndefined();
    expect(observer.current.state).toBe('unknown');
  });
});
