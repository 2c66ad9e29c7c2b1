import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fence } from '../../src/index.ts';
import { check } from '../support/property.ts';

describe('a fence', () => {
  it('admits terms that do not fall, the same one as often as it comes', () => {
    const fence = new Fence();
    for (const term of [1n, 1n, 2n, 2n, 9n]) fence.admit(term);
    expect(fence.highest).toBe(9n);
  });

  it('refuses an older term with STALE_TERM, and tells what it has seen', () => {
    const fence = new Fence();
    fence.admit(3n);
    expect(() => fence.admit(2n)).toThrow(expect.objectContaining({ code: 'STALE_TERM', details: { term: 2n, seen: 3n } }));
    expect(fence.highest).toBe(3n);
    expect(() => fence.admit(3n)).not.toThrow();
  });

  it('begins from what is remembered elsewhere', () => {
    const fence = new Fence({ highest: 41n });
    expect(() => fence.admit(40n)).toThrow(expect.objectContaining({ code: 'STALE_TERM' }));
    fence.admit(41n);
  });

  it('keeps what it remembers when it refuses a term that is too high to be true', () => {
    const fence = new Fence({ highest: 7n });
    expect(() => fence.admit(2n ** 63n - 1n)).toThrow(RangeError);
    expect(fence.highest).toBe(7n);
    expect(() => fence.admit(8n)).not.toThrow();
  });

  it('admits the terms after the highest one that can be reported to an election', () => {
    const fence = new Fence();
    for (const term of [2n ** 61n, 2n ** 61n + 1n, 2n ** 62n]) fence.admit(term);
    expect(new Fence({ highest: 2n ** 62n }).highest).toBe(fence.highest);
  });

  it('compares beyond the integers that a number can hold', () => {
    const fence = new Fence({ highest: 2n ** 53n + 1n });
    expect(() => fence.admit(2n ** 53n)).toThrow(expect.objectContaining({ code: 'STALE_TERM' }));
  });

  it('whatever comes, the admitted terms never fall', () => {
    check(
      fc.property(fc.array(fc.bigInt({ min: 1n, max: 20n })), (terms) => {
        const fence = new Fence();
        let last = 0n;
        for (const term of terms) {
          if (term < last) expect(() => fence.admit(term)).toThrow('is older than');
          else {
            fence.admit(term);
            last = term;
          }
          expect(fence.highest).toBe(last);
        }
      }),
    );
  });

  it.each([0n, -1n, 5, '5', undefined, { round: 1 }, 2n ** 62n + 1n, 2n ** 63n - 1n])('takes no term that is none: %s', (term) => {
    expect(() => Reflect.apply(Fence.prototype.admit, new Fence(), [term])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });

  it.each([-1n, 5, null, 2n ** 62n + 1n])('takes no memory that is none: %s', (highest) => {
    expect(() => Reflect.construct(Fence, [{ highest }])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });

  it('refuses a misspelt option, whose default would let every old term in', () => {
    expect(() => Reflect.construct(Fence, [{ higest: 41n }])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});
