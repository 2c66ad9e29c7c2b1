import { describe, expect, it } from 'vitest';
import { IncumbentError, isIncumbentError, isRetryable, outcomeOf, StoreError, type StoreErrorCode } from '../../src/index.ts';

const passing: readonly StoreErrorCode[] = ['UNREACHABLE', 'TIMEOUT', 'CONNECTION_LOST', 'UNAVAILABLE', 'STORE_FAILED', 'LEASE_EXPIRED'];
const lasting: readonly StoreErrorCode[] = ['UNAUTHENTICATED', 'PERMISSION_DENIED', 'TOO_LARGE', 'UNSUPPORTED', 'STORE_CLOSED'];

describe('an error of this SDK', () => {
  it('is an Error with a code, details and the native cause', () => {
    const cause = new Error('native');
    const error = new IncumbentError('STALE_TERM', 'text', { cause, details: { term: 1n, seen: 2n } });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'IncumbentError', code: 'STALE_TERM', message: 'text', details: { term: 1n, seen: 2n }, cause });
  });

  it('has no cause where none was given, and one where undefined was', () => {
    expect('cause' in new IncumbentError('MEMBER_CLOSED', 'text')).toBe(false);
    expect('cause' in new IncumbentError('MEMBER_CLOSED', 'text', { cause: undefined })).toBe(true);
    expect(new IncumbentError('MEMBER_CLOSED', 'text').details).toEqual({});
  });

  it('is recognised by its code, also from another copy of this package', () => {
    const copied = Object.assign(new Error('from another copy'), { code: 'TIMEOUT', details: {}, outcome: 'unknown' });
    expect(isIncumbentError(copied)).toBe(true);
    expect(isIncumbentError(copied, 'TIMEOUT', 'UNREACHABLE')).toBe(true);
    expect(isIncumbentError(copied, 'UNREACHABLE')).toBe(false);
    expect([outcomeOf(copied), isRetryable(copied)]).toEqual(['unknown', true]);
  });

  it.each([
    undefined,
    null,
    'TIMEOUT',
    {},
    new Error('plain'),
    Object.assign(new Error('system'), { code: 'ECONNRESET' }),
    { code: 'TIMEOUT', details: {} },
  ])('is not anything else: %s', (value) => {
    expect(isIncumbentError(value)).toBe(false);
    expect(isRetryable(value)).toBe(false);
    expect(outcomeOf(value)).toBe('unknown');
  });
});

describe('the outcome of a failed call', () => {
  it('is what the adapter said; anything unforeseen is unknown, never no', () => {
    expect(outcomeOf(new StoreError('TIMEOUT', 'unknown', ''))).toBe('unknown');
    expect(outcomeOf(new StoreError('UNAVAILABLE', 'refused', ''))).toBe('refused');
    expect(outcomeOf(new StoreError('UNREACHABLE', 'notSent', ''))).toBe('notSent');
    expect(outcomeOf(Object.assign(new Error('x'), { outcome: 'happened' }))).toBe('unknown');
    expect(outcomeOf(new DOMException('aborted', 'AbortError'))).toBe('unknown');
  });
});

describe('trying again', () => {
  it.each(passing)('can help after %s', (code) => {
    expect(isRetryable(new StoreError(code, 'unknown', ''))).toBe(true);
  });

  it.each(lasting)('cannot help after %s', (code) => {
    expect(isRetryable(new StoreError(code, 'refused', ''))).toBe(false);
  });

  it('cannot help after foreign data or an error of the programmer', () => {
    expect(isRetryable(new IncumbentError('FOREIGN_DATA', ''))).toBe(false);
    expect(isRetryable(new TypeError('x is not a function'))).toBe(false);
  });
});
