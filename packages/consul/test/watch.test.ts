import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { ABSENT, leaseCall, openOnFakeAgent, pairs, servesLeases, type FakeRequest, type FakeResponse } from './fake-agent.ts';
import { eventually, inTurn, scene, Watched } from './watch-scene.ts';

describe('a watch', () => {
  it('that begins while the store closes ends with STORE_CLOSED, and reads nothing', async () => {
    const deregisters = ({ path }: FakeRequest): boolean => path.startsWith('/v1/agent/service/deregister');
    await using on = await openOnFakeAgent(servesLeases);
    const { id } = await on.store.grantLease(10_000, leaseCall());
    // The close waits half a second for the service of the lease to be removed.
    on.agent.respond = (request) => (deregisters(request) ? undefined : servesLeases(request));
    await on.store.revokeLease(id);
    await eventually('the removal', () => on.requests().some(deregisters));
    const closing = on.store.close();
    const watched = new Watched(on.store, 'a');
    await closing;
    await eventually('the end', () => watched.error !== undefined);
    expect(watched.error).toMatchObject({ code: 'STORE_CLOSED' });
    expect(watched.seen).toEqual([]);
  });

  it('begins with a consistent read, and then waits behind its index', async () => {
    await using on = await scene();
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), pairs(9, ['app/a', 9]));
    const watched = new Watched(on.store, 'a');
    await eventually('both', () => watched.seen.length === 2 && on.queries().length === 3);
    expect([watched.seen, on.queries()]).toEqual([
      ['8', '9'],
      ['now', 'after 8', 'after 9'],
    ]);
    expect(on.agent.requests.at(-1)?.query.get('wait')).toBe('10000ms');
  });

  it('does not take every answer for a change', async () => {
    await using on = await scene();
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), pairs(8, ['app/a', 8]), pairs(9, ['app/a', 8]), pairs(10, ['app/a', 10]));
    const watched = new Watched(on.store, 'a');
    await eventually('all', () => on.queries().length === 5);
    expect(watched.seen).toEqual(['8', '10']);
  });

  it('does not read the body of an answer without a change', async () => {
    await using on = await scene();
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), { ...pairs(8), body: 'not a list' }, pairs(9, ['app/a', 9]));
    const watched = new Watched(on.store, 'a');
    await eventually('the change', () => watched.seen.length === 2 && on.queries().length === 4);
    expect([watched.seen, watched.stale, on.queries()]).toEqual([['8', '9'], [], ['now', 'after 8', 'after 8', 'after 9']]);
  });

  it('forgets an index that goes back, ignores the state that came with it, and reads again', async () => {
    await using on = await scene();
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), pairs(3, ['app/a', 3]), pairs(4, ['app/a', 4]));
    const watched = new Watched(on.store, 'a');
    await eventually('all', () => on.queries().length === 4);
    expect([watched.seen, on.queries()]).toEqual([
      ['8', '4'],
      ['now', 'after 8', 'now', 'after 4'],
    ]);
  });

  it('never waits behind an index below 1, as the server would answer at once', async () => {
    await using on = await scene();
    on.agent.respond = inTurn({ ...ABSENT, headers: { ...ABSENT.headers, 'x-consul-index': '0' } });
    const watched = new Watched(on.store, 'a');
    await eventually('all', () => on.queries().length === 2);
    expect([watched.seen, on.queries()]).toEqual([[undefined], ['now', 'after 1']]);
  });

  it.each<[string, FakeResponse | 'reset']>([
    [
      'has no leader',
      { ...pairs(9, ['app/a', 9]), headers: { ...ABSENT.headers, 'x-consul-index': '9', 'x-consul-knownleader': 'false' } },
    ],
    [
      'has not heard from the leader for long',
      { ...pairs(9, ['app/a', 9]), headers: { 'x-consul-index': '9', 'x-consul-lastcontact': '5000' } },
    ],
    ['fails', { status: 500, body: 'No cluster leader' }],
    ['ends the connection', 'reset'],
  ])('goes stale when the server %s, and then shows the state again, changed or not', async (_, answer) => {
    await using on = await scene();
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), answer, pairs(8, ['app/a', 8]));
    const watched = new Watched(on.store, 'a');
    await eventually('all', () => watched.seen.length === 2);
    expect([watched.seen, watched.stale.length, on.queries().slice(0, 3)]).toEqual([['8', '8'], 1, ['now', 'after 8', 'now']]);
  });

  it('goes stale when no answer comes within the wait, a sixteenth of it and 1 s', async () => {
    const clock = new ManualClock();
    await using on = await scene({ clock, watchWaitMs: 1_600 });
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]));
    const watched = new Watched(on.store, 'a');
    await eventually('it is shown', () => watched.seen.length === 1);
    await eventually('it waits', () => on.agent.pending === 1);
    await clock.advance(2_699);
    expect(watched.stale).toEqual([]);
    await clock.advance(1);
    expect(watched.stale).toMatchObject([{ code: 'TIMEOUT' }]);
  });

  it('ends if the token may not read its key', async () => {
    await using on = await scene();
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), { status: 403, body: 'Permission denied' });
    const watched = new Watched(on.store, 'a');
    await eventually('it ends', () => watched.error !== undefined);
    expect(watched.error).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('sends 10 queries a second to a server that reports changes all the time', async () => {
    await using on = await scene();
    let index = 8;
    on.agent.respond = () => pairs((index += 1), ['app/a', index]);
    const from = performance.now();
    const watched = new Watched(on.store, 'a');
    await eventually('some', () => on.queries().length >= 6);
    expect(performance.now() - from).toBeGreaterThan(390);
    await eventually('the last', () => watched.seen.at(-1) === String(index));
  });

  it('sends 20 queries at once, and then 20 a second, to a server that answers without a change', async () => {
    await using on = await scene();
    on.agent.respond = () => pairs(8, ['app/a', 8]);
    const from = performance.now();
    const watched = new Watched(on.store, 'a');
    await eventually('some', () => on.queries().length >= 30);
    expect(performance.now() - from).toBeGreaterThan(400);
    expect(watched.seen).toEqual(['8']);
  });

  it('has not sent another query when its consumer is done within a moment', async () => {
    await using on = await scene();
    on.agent.respond = inTurn(pairs(8, ['app/a', 8]), pairs(9, ['app/a', 9]));
    for await (const entry of on.store.watch('a', { signal: new AbortController().signal })) {
      if (entry?.revision === '9') break;
    }
    // This read is sent after the watch could have sent a query.
    await on.store.read('b', { timeoutMs: 200 }).catch(() => {});
    expect(on.queries()).toEqual(['now', 'after 8', 'now']);
  });
});
