import type { TimedCall } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';
import { describe, expect, it } from 'vitest';

import { CheckedCalls, judgeCommon, storeErrorOf, UNFORESEEN, withGrant } from '@incumbent/network';

import { ExchangeError } from './errors.ts';

const CALL: TimedCall = { timeoutMs: 1_000 };

function open() {
  const store = { closed: false };
  const calls = new CheckedCalls({
    store: 'shop',
    isClosed: () => store.closed,
    toStoreError: (error, method) =>
      storeErrorOf(error, `shop ${method}`, (cause) => (cause instanceof ExchangeError ? judgeCommon(cause.failure) : UNFORESEEN)),
    nameGrant: (error) => withGrant(error, () => ({ right: 'read', keys: ['a'], grant: 'GRANT read' })),
  });
  return { store, calls };
}

describe('before a call', () => {
  it('its options are checked, and get their timeout', () => {
    const { calls } = open();
    expect(calls.check({}).timeoutMs).toBeGreaterThan(0);
    expect(() => calls.check({ timeoutMs: -1 })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });

  it('the reason of an aborted signal is thrown, and STORE_CLOSED once the store is closed', () => {
    const { store, calls } = open();
    const reason = new Error('enough');
    expect(() => calls.check({ signal: AbortSignal.abort(reason) })).toThrow(reason);
    store.closed = true;
    expect(() => calls.check({})).toThrow(expect.objectContaining({ code: 'STORE_CLOSED', outcome: 'notSent' }));
  });
});

describe('after a call', () => {
  const cut = new ExchangeError({ kind: 'cut' }, 'the connection broke');
  const failing = (error: unknown) => async (): Promise<never> => {
    throw error;
  };

  it('its result is returned', async () => {
    expect(await open().calls.call('read', async () => 7, CALL)).toBe(7);
  });

  it('its error is a store error that names the store and the call', async () => {
    const error: unknown = await open()
      .calls.call('read', failing(cut), CALL)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown', message: 'shop read: the connection broke', cause: cut });
  });

  it('a missing permission names the grant', async () => {
    const denied = new StoreError('PERMISSION_DENIED', 'refused', 'no');
    await expect(open().calls.call('read', failing(denied), CALL)).rejects.toMatchObject({ details: { grant: 'GRANT read' } });
  });

  it('a store that was closed meanwhile is the reason to report, with what is known of the outcome', async () => {
    const { store, calls } = open();
    store.closed = true;
    await expect(calls.call('read', failing(cut), CALL)).rejects.toMatchObject({ code: 'STORE_CLOSED', outcome: 'unknown' });
  });

  it('the reason of the signal is thrown as it is, even if the store was closed meanwhile', async () => {
    const { store, calls } = open();
    store.closed = true;
    const reason = new Error('enough');
    await expect(calls.call('read', failing(reason), { ...CALL, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
