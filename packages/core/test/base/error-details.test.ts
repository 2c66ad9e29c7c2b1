/** The types are checked by `tsc -p tsconfig.test.json`; the values, by running the tests. */

import assert from 'node:assert/strict';

import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  type DetailsByCode,
  type ErrorCode,
  IncumbentError,
  isIncumbentError,
  type LeadershipEndDetails,
  StoreError,
} from '../../src/index.ts';

const stale: unknown = new IncumbentError('STALE_TERM', 'old', { details: { term: 1n, seen: 2n } });

describe('the code of an error', () => {
  it('determines the type of its details', () => {
    assert.ok(isIncumbentError(stale, 'STALE_TERM'));
    expectTypeOf(stale.code).toEqualTypeOf<'STALE_TERM'>();
    expectTypeOf(stale.details).toEqualTypeOf<{ readonly term: bigint; readonly seen: bigint }>();
    expect(stale.details.seen).toBe(2n);
  });

  it('determines them also of the end of a leadership', () => {
    const details = { term: 3n, reason: 'deadline', lost: true, loopBlockedMs: 4_000 };
    const error: unknown = new IncumbentError('LEADERSHIP_ENDED', 'over', { details });
    assert.ok(isIncumbentError(error, 'LEADERSHIP_ENDED'));
    expectTypeOf(error.details).toEqualTypeOf<LeadershipEndDetails>();
    expect(error.details.lost).toBe(true);
  });

  it('discriminates the union of all errors', () => {
    assert.ok(isIncumbentError(stale));
    expectTypeOf(stale.code).toEqualTypeOf<ErrorCode>();
    switch (stale.code) {
      case 'STALE_TERM':
        expectTypeOf(stale.details.seen).toEqualTypeOf<bigint>();
        break;
      case 'DUPLICATE_MEMBER':
        expectTypeOf(stale.details.waitedMs).toEqualTypeOf<number>();
        break;
      default:
        expect.unreachable();
    }
  });

  it('discriminates the union of two that were asked for', () => {
    const error: unknown = new StoreError('LEASE_EXPIRED', 'refused', 'gone', { details: { lease: '7' } });
    assert.ok(isIncumbentError(error, 'LEASE_EXPIRED', 'STALE_TERM'));
    expectTypeOf(error.code).toEqualTypeOf<'LEASE_EXPIRED' | 'STALE_TERM'>();
    assert.ok(error.code === 'LEASE_EXPIRED');
    expectTypeOf(error.details.lease).toEqualTypeOf<string | undefined>();
    expect(error.details.lease).toBe('7');
  });

  it('has details of one type, and each type belongs to a code', () => {
    expectTypeOf<keyof DetailsByCode>().toEqualTypeOf<ErrorCode>();
  });
});

describe('the constructor', () => {
  it('takes no code without its details, and no details of another code', () => {
    // @ts-expect-error STALE_TERM has details
    expect(new IncumbentError('STALE_TERM', 'old').code).toBe('STALE_TERM');
    // @ts-expect-error these are the details of DUPLICATE_MEMBER
    const wrong = new IncumbentError('STALE_TERM', 'old', { details: { memberId: 'a', waitedMs: 0 } });
    expect(wrong.code).toBe('STALE_TERM');
    // @ts-expect-error MEMBER_CLOSED has none
    expect(new IncumbentError('MEMBER_CLOSED', 'over', { details: { seen: 1n } }).details).toEqual({ seen: 1n });
  });
});
