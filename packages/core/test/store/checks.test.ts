import { describe, expect, it } from 'vitest';
import { checkListing, someOf } from '../../src/adapter.ts';

describe('of a list', () => {
  it.each([
    [{}, [1, 2, 3]],
    [{ first: 2 }, [1, 2]],
    [{ first: 9 }, [1, 2, 3]],
    [{ last: 2 }, [2, 3]],
    [{ last: 9 }, [1, 2, 3]],
  ])('%j are %j', (part, some) => {
    expect(someOf([1, 2, 3], part)).toEqual(some);
  });

  it.each([{}, { first: 1 }, { last: 1 }, { first: undefined, last: 500 }])('%j may be asked for', (part) => {
    expect(() => checkListing(part)).not.toThrow();
  });

  it.each([
    [{ first: 0 }, 'first'],
    [{ first: 1.5 }, 'first'],
    [{ last: -1 }, 'last'],
    [{ last: Number.NaN }, 'last'],
    [{ first: 1, last: 1 }, 'last'],
  ])('%j may not: the error names it', (part, name) => {
    expect(() => checkListing(part)).toThrow(RangeError);
    expect(() => checkListing(part)).toThrow(name);
  });
});
