import assert from 'node:assert/strict';
import diagnosticsChannel from 'node:diagnostics_channel';

import { describe, expect, it } from 'vitest';
import { ElectionAdmin, ElectionObserver, Fence, IncumbentError, isIncumbentError } from '../../src/index.ts';
import { withJson } from '../../src/base/json.ts';
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
    expect(parsed(withJson({ error }))).toEqual({ error: parsed(error) });
  });

  const native = Object.assign(new Error('no answer'), { code: 'ECONNRESET', config: { password: 'secret' } });

  it.each([
    ['no cause', new TypeError('wrong'), { name: 'TypeError', message: 'wrong' }],
    ['a number as its code', Object.assign(new Error('no'), { code: 14 }), { name: 'Error', code: 14, message: 'no' }],
    ['an object as its code', Object.assign(new Error('no'), { code: {} }), { name: 'Error', message: 'no' }],
    [
      'an error as its cause',
      new Error('boom', { cause: native }),
      { name: 'Error', message: 'boom', cause: { name: 'Error', code: 'ECONNRESET', message: 'no answer' } },
    ],
    ['a text as its cause', new Error('boom', { cause: 'no paper' }), { name: 'Error', message: 'boom', cause: 'no paper' }],
    ['a bigint as its cause', new Error('boom', { cause: 2n }), { name: 'Error', message: 'boom', cause: '2' }],
    [
      'another object as its cause',
      new Error('boom', { cause: { password: 'secret' } }),
      { name: 'Error', message: 'boom', cause: 'an object' },
    ],
    [
      'an error of the SDK as its cause',
      new Error('boom', { cause: new IncumbentError('STALE_TERM', 'old', { details: { term: 1n, seen: 2n }, cause: native }) }),
      {
        name: 'Error',
        message: 'boom',
        cause: { name: 'IncumbentError', code: 'STALE_TERM', message: 'old', details: { term: '1', seen: '2' } },
      },
    ],
    [
      'a toJSON that shows more',
      Object.assign(new Error('no'), { toJSON: () => ({ password: 'secret' }) }),
      { name: 'Error', message: 'no' },
    ],
  ])('of another library, with %s, has its name, code, message and cause', (_, error, expected) => {
    expect(parsed(withJson({ error, errors: [error] }))).toEqual({ error: expected, errors: [expected] });
  });

  it('that is its own cause is written to a limited depth', () => {
    const error = new Error('boom');
    error.cause = error;
    const text = JSON.stringify(withJson({ error }));
    expect(text.match(/boom/g)?.length).toBeLessThan(10);
  });
});
