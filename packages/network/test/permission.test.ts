import { StoreError } from '@incumbent/core/adapter';
import { describe, expect, it } from 'vitest';

import { type MissingPermission, namingGrant, withGrant } from '../src/index.ts';

const missing = (...keys: readonly string[]): MissingPermission => ({ right: 'read', keys, grant: 'GRANT x' });
const denied = new StoreError('PERMISSION_DENIED', 'unknown', 'etcd Range: denied', { cause: 7 });

describe('the error of a call for which a right is missing', () => {
  it('names the right, the key and how to grant it, and keeps the other fields', () => {
    expect(withGrant(denied, () => missing('a'))).toMatchObject({
      code: 'PERMISSION_DENIED',
      outcome: 'unknown',
      cause: 7,
      message: 'etcd Range: denied; missing: read on "a"; to grant it: GRANT x',
      details: { right: 'read', keys: ['a'], grant: 'GRANT x' },
    });
  });

  it('names no key for a right that does not concern keys, and only a few of many keys', () => {
    expect(withGrant(denied, () => missing())).toMatchObject({ message: 'etcd Range: denied; missing: read; to grant it: GRANT x' });
    expect(withGrant(denied, () => missing('a', 'b', 'c', 'd', 'e'))).toMatchObject({
      message: 'etcd Range: denied; missing: read on "a", "b", "c" and 2 more; to grant it: GRANT x',
      details: { keys: ['a', 'b', 'c', 'd', 'e'] },
    });
  });

  it('is changed once', async () => {
    const named = withGrant(denied, () => missing('a'));
    expect(withGrant(named, () => missing('b'))).toBe(named);
    await expect(namingGrant(Promise.reject(denied), () => missing('a'))).rejects.toMatchObject({ details: { keys: ['a'] } });
  });
});

it.each([new StoreError('TIMEOUT', 'unknown', 'late'), new Error('other'), 'text'])('every other error stays as it is: %s', (error) => {
  expect(withGrant(error, () => missing('a'))).toBe(error);
});

it('a call that succeeds keeps its result', async () => {
  expect(await namingGrant(Promise.resolve(5), () => missing('a'))).toBe(5);
});
