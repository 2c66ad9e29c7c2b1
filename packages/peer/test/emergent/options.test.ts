import { describe, expect, it } from 'vitest';
import { emergent, type EmergentOptions } from '../../src/index.ts';

describe('an invalid option throws an error that names the option, its value and the range', () => {
  it.each<[Partial<EmergentOptions> & Record<string, unknown>, string]>([
    [{ cluster: 'no such name' }, 'cluster is "no such name"'],
    [{ heartbeatEveryMs: 10 }, 'heartbeatEveryMs is 10: it must be a number from 20 to 60000'],
    [
      { heartbeatEveryMs: 100, failureTimeoutMs: 200 },
      'failureTimeoutMs is 200: it must be a number from 300 to 10000 (3 to 100 times heartbeatEveryMs)',
    ],
    [{ failureTimeoutMs: 5_000, answerTimeoutMs: 4_000 }, 'answerTimeoutMs is 4000: it must be a number from 1000 to 2000'],
    [{ heartbeatsTo: 0 }, 'heartbeatsTo is 0: it must be "all", or a whole number of successors from 1 to 10'],
    [{ heartbeatsTo: 1.5 }, 'heartbeatsTo is 1.5'],
    [{ detector: 'phi', phiThreshold: 20 }, 'phiThreshold is 20'],
    [{ phiThreshold: 8 }, "phiThreshold is 8: it must be left out, unless detector is 'phi'"],
    [{ detector: 'timeout', phiThreshold: 8 }, "phiThreshold is 8: it must be left out, unless detector is 'phi'"],
    [{ joinAttempts: 1 }, 'joinAttempts is 1'],
    [{ joinAttempts: 2.5 }, 'joinAttempts is 2.5'],
    [{ minimumSize: 251 }, 'minimumSize is 251'],
    [{ minimumSize: 1.5 }, 'minimumSize is 1.5'],
    [{ drainMs: 2_000 }, 'drainMs is 2000'],
    [{ forgetAfterMs: 1_000 }, 'forgetAfterMs is 1000'],
    [{ seeds: ['a'] }, 'seeds'],
  ])('%o', (options, message) => {
    expect(() => emergent({ cluster: 'orders', ...options })).toThrow(
      expect.objectContaining({ message: expect.stringContaining(message) as string }),
    );
  });

  it('flags must be booleans', () => {
    const majority: unknown = 'yes';
    expect(() => emergent({ cluster: 'orders', majority: majority as boolean })).toThrow(
      'majority is a string of 3 characters: it must be true or false',
    );
    const detector: unknown = 'guess';
    expect(() => emergent({ cluster: 'orders', detector: detector as 'phi' })).toThrow('detector is a string of 5 characters');
  });

  it('the configuration contains exactly the options on which members must agree', () => {
    const of = (options: Partial<EmergentOptions>): string => emergent({ cluster: 'orders', ...options }).configuration;
    for (const other of [
      { cluster: 'stock' },
      { heartbeatEveryMs: 500 },
      { failureTimeoutMs: 4_000 },
      { detector: 'phi' as const },
      { heartbeatsTo: 2 },
      { pullEveryMs: 2_000 },
      { minimumSize: 2 },
      { majority: true },
    ])
      expect(of(other)).not.toBe(of({}));
    for (const same of [
      { joinAttempts: 3 },
      { searchEveryMs: 2_000 },
      { forgetAfterMs: 60_000 },
      { answerTimeoutMs: 1_500 },
      { drainMs: 0 },
    ])
      expect(of(same)).toBe(of({}));
  });
});
