import assert from 'node:assert/strict';
import diagnosticsChannel from 'node:diagnostics_channel';

import { describe, expect, it } from 'vitest';
import { ElectionAdmin, ElectionObserver, Fence, IncumbentError, isIncumbentError } from '../../src/index.ts';
import { telemetryEvents } from '../../src/base/telemetry.ts';
import { NAME, TTL_MS, World } from '../support/world.ts';

function parsed(value: unknown): unknown {
  const json: unknown = JSON.parse(JSON.stringify(value));
  return json;
}

/** Whether a bigint is anywhere in the value, where JSON would meet it. */
function holdsBigint(value: unknown): boolean {
  if (typeof value === 'bigint') return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsBigint);
}

function thrownBy(task: () => unknown): unknown {
  try {
    task();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('JSON.stringify writes a term as a decimal string in', () => {
  it('leaderships, their ends and their errors', async () => {
    const world = new World();
    const leadership = await world.elect(world.member('a', {}, world.connect()));
    expect(parsed({ leadership })).toEqual({ leadership: { election: NAME, term: '1', memberId: 'a', state: 'valid' } });
    await world.run(leadership.resign());
    const end = await leadership.ended;
    expect(end.term).toBe(1n);
    expect(parsed(end)).toMatchObject({ term: '1', reason: 'resigned', lost: false });
    const reason: unknown = leadership.signal.reason;
    assert.ok(reason instanceof Error);
    expect(parsed(reason)).toMatchObject({
      name: 'IncumbentError',
      code: 'LEADERSHIP_ENDED',
      message: reason.message,
      details: { term: '1' },
    });
    expect(parsed(thrownBy(() => leadership.assertValid()))).toMatchObject({ details: { term: '1' } });
    await world.close();
  });

  it('details of errors, and errors of arguments', () => {
    const error = thrownBy(() => new Fence({ highest: 3n }).admit(2n));
    expect(isIncumbentError(error, 'STALE_TERM') && parsed(error.details)).toEqual({ term: '2', seen: '3' });
    expect(parsed(error)).toMatchObject({ code: 'STALE_TERM', details: { term: '2', seen: '3' } });
    expect(parsed(thrownBy(() => new Fence({ highest: -1n })))).toMatchObject({ code: 'INVALID_OPTION', details: { value: '-1' } });
    expect(parsed(new Fence({ highest: 3n }))).toEqual({ highest: '3' });
  });

  it('views of observers, and states of elections', async () => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.elect(world.member('a', {}, world.connect()));
    const observer = new ElectionObserver(store, NAME, { clock: world.clock });
    await world.run(observer.ready);
    expect(parsed(observer.current)).toMatchObject({ state: 'leader', term: '1', memberId: 'a' });
    expect(parsed(await world.run(observer.leader()))).toMatchObject({ term: '1' });
    const admin = new ElectionAdmin(store, NAME);
    const state = await world.run(admin.state());
    expect(parsed(state)).toMatchObject({ term: '1', leader: { term: '1' } });
    expect(parsed(state.leader)).toMatchObject({ term: '1' });
    await world.run(leadership.resign());
    await world.pass(TTL_MS);
    expect(parsed(observer.current)).toMatchObject({ state: 'vacant', term: '1', reason: 'resigned' });
    store.link.cutOff();
    await world.pass(10 * TTL_MS);
    expect(parsed(observer.current)).toMatchObject({ state: 'unknown', last: { term: '1' } });
    await observer.close();
    await world.close();
  });

  it('every event', async () => {
    const messages: object[] = [];
    const listen = (message: unknown): void => void (typeof message === 'object' && message !== null && messages.push(message));
    for (const event of telemetryEvents) diagnosticsChannel.subscribe(`incumbent:${event}`, listen);
    const world = new World();
    const leadership = await world.elect(world.member('a', {}, world.connect()));
    await world.run(leadership.resign());
    for (const event of telemetryEvents) diagnosticsChannel.unsubscribe(`incumbent:${event}`, listen);
    const withTerms = messages.filter(holdsBigint);
    expect(withTerms.length).toBeGreaterThan(2);
    for (const message of withTerms) expect(parsed(message)).toMatchObject({ term: '1' });
    await world.close();
  });
});

describe('an error in JSON', () => {
  it('has the outcome of a store call, and no cause', () => {
    const error = new IncumbentError('FOREIGN_DATA', 'strange', { cause: new Error('native'), details: { key: 'k' } });
    expect(parsed(error)).toEqual({ name: 'IncumbentError', code: 'FOREIGN_DATA', message: 'strange', details: { key: 'k' } });
  });
});
