import { StoreError } from '@incumbent/core/adapter';
import { describe, expect, it } from 'vitest';

import {
  checkSwapSize,
  checkValueSize,
  closedMeanwhile,
  type CommonFailure,
  endsWatch,
  judgeCommon,
  leaseGone,
  mildestOf,
  storeClosed,
  storeErrorOf,
  tooLarge,
  UNFORESEEN,
  type Verdict,
} from '@incumbent/network';

import { ExchangeError } from './errors.ts';

function verdictOn(error: unknown): Verdict {
  return error instanceof ExchangeError ? judgeCommon(error.failure) : UNFORESEEN;
}

describe('the error of a failed exchange', () => {
  it.each<[CommonFailure, string]>([
    [{ kind: 'cut' }, 'CONNECTION_LOST unknown'],
    [{ kind: 'malformed' }, 'STORE_FAILED unknown'],
    [{ kind: 'timeout', sent: true }, 'TIMEOUT unknown'],
    [{ kind: 'timeout', sent: false }, 'UNREACHABLE notSent'],
    [{ kind: 'closed', sent: true }, 'STORE_CLOSED unknown'],
    [{ kind: 'closed', sent: false }, 'STORE_CLOSED notSent'],
  ])('%o has the code and outcome %s', (failure, expected) => {
    const { code, outcome } = storeErrorOf(new ExchangeError(failure, 'it failed'), 'shop read', verdictOn);
    expect(`${code} ${outcome}`).toBe(expected);
  });

  it('names the store and the call, and has the native error as its cause', () => {
    const cause = new ExchangeError({ kind: 'cut' }, 'it failed');
    expect(storeErrorOf(cause, 'shop read', verdictOn)).toMatchObject({ message: 'shop read: it failed', cause });
  });

  it('is STORE_FAILED with an unknown outcome for an unexpected error', () => {
    expect(storeErrorOf('what?', 'shop read', verdictOn)).toMatchObject({
      code: 'STORE_FAILED',
      outcome: 'unknown',
      message: 'shop read: what?',
    });
  });

  it('is unchanged if it is a store error already', () => {
    const error = leaseGone('shop', 'l1');
    expect(storeErrorOf(error, 'shop read', verdictOn)).toBe(error);
  });
});

it('of several errors is one that a retry may pass', () => {
  const [lost, away] = [new ExchangeError({ kind: 'cut' }, 'lost'), new ExchangeError({ kind: 'timeout', sent: false }, 'away')];
  expect(mildestOf([lost, away], verdictOn)).toBe(away);
  const busy = new Error('busy');
  expect(mildestOf([away, busy], (error) => (error === busy ? ['UNAVAILABLE', 'notSent'] : verdictOn(error)))).toBe(busy);
  expect(mildestOf([], verdictOn)).toBeUndefined();
});

it.each([
  ['PERMISSION_DENIED', true],
  ['UNAUTHENTICATED', true],
  ['STORE_CLOSED', true],
  ['UNREACHABLE', false],
  ['STORE_FAILED', false],
] as const)('a watch ends at %s: %s', (code, ends) => {
  expect(endsWatch(new StoreError(code, 'unknown', ''))).toBe(ends);
});

it('a watch does not end at an error that is no store error', () => {
  expect(endsWatch(new Error('PERMISSION_DENIED'))).toBe(false);
});

it('a closed store sent nothing', () => {
  expect(storeClosed('shop')).toMatchObject({ code: 'STORE_CLOSED', outcome: 'notSent', message: 'shop: the store was closed' });
});

it.each([
  ['unknown', 'unknown'],
  ['notSent', 'notSent'],
  // A later call would not be refused for this: it would not be sent.
  ['refused', 'notSent'],
] as const)('a call that the close overtook, and that was %s before, is %s', (outcome, expected) => {
  const cause = new Error('native');
  const error = closedMeanwhile(new StoreError('UNAVAILABLE', outcome, 'busy', { cause }), 'shop read');
  expect(error).toMatchObject({ code: 'STORE_CLOSED', outcome: expected, cause, message: 'shop read: the store was closed' });
});

it('a lease that is gone is refused', () => {
  expect(leaseGone('shop', 'l1')).toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
});

describe('a swap', () => {
  const store = { name: 'shop', capabilities: { maxChanges: 2, maxValueBytes: 3 } };
  const put = (length: number) => ({ key: 'k', expect: null, put: new Uint8Array(length) });
  const refused = { code: 'TOO_LARGE', outcome: 'refused' };

  it('within the limits of the store is accepted', () => {
    expect(() => checkSwapSize(store, [put(3), { key: 'm', expect: null }])).not.toThrow();
  });

  it('of too many changes is TOO_LARGE', () => {
    const changes = ['a', 'b', 'c'].map((key) => ({ key, expect: null }));
    expect(() => checkSwapSize(store, changes)).toThrow(
      expect.objectContaining({ ...refused, message: 'shop: 3 changes are more than the 2 that one swap may have' }),
    );
  });

  it('with a value that is too long is TOO_LARGE', () => {
    const error = expect.objectContaining({ ...refused, message: 'shop: a value of 4 bytes for the key k is longer than 3' });
    expect(() => checkSwapSize(store, [put(1), put(4)])).toThrow(error);
    expect(() => checkValueSize(store, new Uint8Array(4), 'k')).toThrow(error);
  });

  it('may be TOO_LARGE for another reason', () => {
    expect(tooLarge('shop', 'a request of 9 bytes')).toMatchObject({ ...refused, message: 'shop: a request of 9 bytes' });
  });
});
