import { describe, expect, it } from 'vitest';

import { LazyPromise } from '../../src/async/lazy-promise.ts';

describe('a promise for later', () => {
  it('is made when somebody asks, before it is settled or after', async () => {
    const later = new LazyPromise<number>();
    expect(later.value).toBeUndefined();
    const before = later.promise;
    expect(later.promise).toBe(before);
    later.resolve(1);
    later.resolve(2);
    expect([await before, await later.promise, later.value]).toEqual([1, 1, 1]);
    const other = new LazyPromise<undefined>();
    other.resolve(undefined);
    await expect(other.promise).resolves.toBeUndefined();
  });
});
