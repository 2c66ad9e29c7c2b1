import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  longestDrainMs,
  marginMs,
  maxAgeAtRenewalMs,
  resolveTiming,
  type Timing,
  type TimingOptions,
  validMs,
} from '../../src/lease/timing.ts';
import { check } from '../support/property.ts';
import { World } from '../support/world.ts';

const { capabilities } = new World().server;

function resolve(options: TimingOptions = {}): Timing {
  return resolveTiming(options, 'memory', capabilities);
}

describe('the margin', () => {
  it('is 2ρ/(1+ρ) of the ttl, and never under 50 ms', () => {
    expect(marginMs(10_000, 0.01)).toBeCloseTo(198.0198, 4);
    expect(marginMs(10_000, 0.1)).toBeCloseTo(1_818.1818, 4);
    expect(marginMs(1_000, 0.01)).toBe(50);
    expect(marginMs(86_400_000, 0)).toBe(50);
  });

  it('covers a holder whose clock runs slow by ρ and a store whose clock runs fast by ρ', () => {
    check(
      fc.property(fc.integer({ min: 250, max: 86_400_000 }), fc.double({ min: 0, max: 0.1, noNaN: true }), (ttlMs, ratio) => {
        const heldMs = ttlMs - marginMs(ttlMs, ratio);
        // The holder counts `heldMs` ms while true time goes on by that over (1 − ρ); the store
        // counts (1 + ρ) times true time.
        const atTheStore = (heldMs / (1 - ratio)) * (1 + ratio);
        return atTheStore <= ttlMs + 1e-6;
      }),
    );
  });
});

describe('validity', () => {
  it('is the ttl less the margin and the drain', () => {
    const timing = resolve({ ttlMs: 10_000, drainMs: 1_500 });
    expect(validMs(10_000, timing)).toBeCloseTo(10_000 - 198.0198 - 1_500, 4);
  });

  it('follows the ttl that was granted, not the one that was asked for', () => {
    const timing = resolve({ ttlMs: 10_000, drainMs: 1_000 });
    expect(validMs(4_000, timing)).toBeCloseTo(4_000 - 79.2079 - 1_000, 4);
  });
});

describe('the durations of a member', () => {
  it('follow the ttl where they are not given', () => {
    expect(resolve()).toEqual({
      ttlMs: 10_000,
      renewEveryMs: 10_000 / 3,
      retryEveryMs: 500,
      callTimeoutMs: 2_500,
      drainMs: 1_000,
      clockErrorRatio: 0.01,
      successorClaimTimeoutMs: 5_000,
    });
    expect(resolve({ ttlMs: 3_000 })).toMatchObject({
      renewEveryMs: 1_000,
      callTimeoutMs: 750,
      drainMs: 300,
      successorClaimTimeoutMs: 1_500,
    });
    expect(resolve({ ttlMs: 86_400_000 }).callTimeoutMs).toBe(5_000);
  });

  it('leave time for a second renewal on a store where each one counts from the one before', () => {
    const lagging = { ...capabilities, renewalLag: 0.25 };
    const timing = resolveTiming({}, 'slow', lagging);
    expect([timing.renewEveryMs, timing.callTimeoutMs]).toEqual([2_600, 10_000 / 6]);
    expect(maxAgeAtRenewalMs(2_600, 10_000, lagging)).toBe(5_200);
    expect(maxAgeAtRenewalMs(1_000, 10_000, lagging)).toBe(4_000);
    expect(maxAgeAtRenewalMs(2_600, 10_000, capabilities)).toBe(2_600);
    check(
      fc.property(fc.integer({ min: 500, max: 86_400_000 }), (ttlMs) => {
        const { renewEveryMs, callTimeoutMs, retryEveryMs } = resolveTiming({ ttlMs }, 'slow', lagging);
        return 2 * renewEveryMs + callTimeoutMs + 1.25 * retryEveryMs < validMs(ttlMs, resolveTiming({ ttlMs }, 'slow', lagging));
      }),
    );
    expect(() => resolveTiming({ renewEveryMs: 10_000 / 3 }, 'slow', lagging)).toThrow(/2 × renewEveryMs \+ callTimeoutMs/);
  });

  it('work with every ttl, however the rest is left alone', () => {
    check(fc.property(fc.integer({ min: 250, max: 86_400_000 }), (ttlMs) => resolve({ ttlMs }).ttlMs === ttlMs));
  });

  it("keep within the store's own limits, and the default moves into them", () => {
    const narrow = { ...capabilities, minTtlMs: 15_000, maxTtlMs: 20_000 };
    expect(resolveTiming({}, 'narrow', narrow).ttlMs).toBe(15_000);
    expect(() => resolveTiming({ ttlMs: 14_999 }, 'narrow', narrow)).toThrow(
      /^ttlMs is 14999: .* from 15000 to 20000 \(with the store narrow\)$/,
    );
    expect(() => resolveTiming({ ttlMs: 20_001 }, 'narrow', narrow)).toThrow(RangeError);
    const short = { ...capabilities, maxTtlMs: 5_000 };
    expect(resolveTiming({}, 'short', short).ttlMs).toBe(5_000);
  });

  it.each([
    ['ttlMs', 249],
    ['ttlMs', 86_400_001],
    ['renewEveryMs', 9],
    ['retryEveryMs', 4],
    ['callTimeoutMs', 9],
    ['drainMs', -1],
    ['drainMs', 5_001],
    ['clockErrorRatio', -0.01],
    ['clockErrorRatio', 0.11],
    ['successorClaimTimeoutMs', 10_001],
    ['ttlMs', Number.NaN],
    ['drainMs', null],
  ])('are refused outside their range: %s of %s', (option, value) => {
    const attempt = (): Timing => Reflect.apply(resolve, undefined, [{ [option]: value }]);
    expect(attempt).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', details: { option, value } }));
  });

  it('are not shown where they are text', () => {
    const shown = expect.objectContaining({ details: { option: 'ttlMs', value: 'a string of 3 characters' } });
    expect(() => Reflect.apply(resolve, undefined, [{ ttlMs: '10s' }])).toThrow(shown);
  });

  it('leave time for a second try: else they are refused, with the numbers', () => {
    expect(() => resolve({ renewEveryMs: 7_000, callTimeoutMs: 2_500 })).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        message: expect.stringMatching(/10000 − 198 − 1000 = 8802.*tried again before the deadline/),
      }),
    );
    expect(() => resolve({ drainMs: 5_000, clockErrorRatio: 0.1 })).toThrow(/second|again/);
  });

  it.each<[TimingOptions, string]>([
    [{ ttlMs: 4_000, drainMs: 1_500 }, 'lower drainMs to at most 1327, or raise ttlMs to at least 4517'],
    [
      { renewEveryMs: 7_000, callTimeoutMs: 2_500 },
      'lower renewEveryMs to at most 5666, or lower callTimeoutMs to at most 1166, or raise ttlMs to at least 11631',
    ],
    // Without the drain, the call still takes too long.
    [{ callTimeoutMs: 9_000, drainMs: 100 }, 'lower callTimeoutMs to at most 5733, or raise ttlMs to at least 15590'],
  ])('name what the caller can change: %o', (options, remedies) => {
    const [store, ttlMs = 10_000] = [{ ...capabilities, reconnectsWithinMs: 10 }, options.ttlMs];
    const attempt = (changed: TimingOptions): Timing => resolveTiming({ ...options, ...changed }, 'redis', store);
    expect(() => attempt({})).toThrow(new RegExp(`before the deadline: ${remedies}$`));
    for (const [, name = '', value = ''] of remedies.matchAll(/(\w+) to at (?:most|least) (\d+)/g)) {
      expect(attempt({ [name]: Number(value) }).ttlMs).toBe(name === 'ttlMs' ? Number(value) : ttlMs);
      expect(() => attempt({ [name]: Number(value) + (name === 'ttlMs' ? -1 : 1) })).toThrow(/^renewEveryMs \+/);
    }
  });

  it('leave room for a drain of a third of the ttl by default, and of half with smaller durations', () => {
    expect(resolve({ drainMs: 3_300 }).drainMs).toBe(3_300);
    expect(resolve({ drainMs: 5_000, renewEveryMs: 2_000, callTimeoutMs: 1_500 }).drainMs).toBe(5_000);
  });

  it('name the defaults that can change, if the caller has set none of them', () => {
    const lagging = { ...capabilities, renewalLag: 0.25 };
    expect(() => resolveTiming({ clockErrorRatio: 0.1 }, 'slow', lagging)).toThrow(
      /deadline: lower drainMs to at most \d+, or lower renewEveryMs .*, or raise ttlMs to at least \d+$/,
    );
  });

  it('leave time for the answer to the second try, where the store needs some to leave a silent server', () => {
    const slow = { ...capabilities, reconnectsWithinMs: 1_300 };
    const withDrain = (drainMs: number): Timing => resolveTiming({ drainMs }, 'slow', slow);
    // 10,000 / 3 + 2,500 + 1.25 × 500 + 1,300 = 7,758 is at most 10,000 − 198 − drain.
    expect(withDrain(2_043).drainMs).toBe(2_043);
    expect(() => withDrain(2_044)).toThrow(
      /^renewEveryMs \+ callTimeoutMs \+ 1.25 × retryEveryMs \+ the 1300 ms that slow needs to leave a silent server is 7758: /,
    );
    expect(resolve({ drainMs: 3_343 }).drainMs).toBe(3_343);
    expect(Math.floor(longestDrainMs({}, { name: 'slow', capabilities: slow }))).toBe(2_043);
  });

  it('leave time for a second try even with the longest random delay before it', () => {
    check(
      fc.property(fc.integer({ min: 10, max: 9_000 }), fc.integer({ min: 5, max: 9_000 }), (renewEveryMs, retryEveryMs) => {
        const options = { ttlMs: 10_000, renewEveryMs, retryEveryMs };
        let timing: Timing;
        try {
          timing = resolve(options);
        } catch {
          return true;
        }
        const secondTryAt = timing.renewEveryMs + timing.callTimeoutMs + 1.25 * timing.retryEveryMs;
        return secondTryAt <= validMs(timing.ttlMs, timing);
      }),
    );
  });
});
