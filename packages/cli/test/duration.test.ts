import { describe, expect, it } from 'vitest';

import { parseDuration, showDuration } from '../src/common/duration.ts';

describe('a duration', () => {
  it.each([
    ['500ms', 500],
    ['15s', 15_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['0', 0],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDuration('--ttl', text)).toBe(ms);
  });

  it.each(['5', '-1s', '1 s', '1d', '1e3s', '5S', '0.5', '1,5s', '10 seconds', '2min'])('"%s" is rejected, and shown', (text) => {
    expect(() => parseDuration('--grace', text)).toThrow(
      `--grace is "${text}": it must be a number with a unit, such as 500ms, 15s, 1.5m or 1h`,
    );
  });

  it.each(['', 's', 'hunter2', '5hunter', '12:34@56', '1234567890', '0x1f', '5\n', '1s2s'])(
    '%j is rejected, and may be a secret',
    (text) => {
      expect(() => parseDuration('--ttl', text)).toThrow(`--ttl is a string of ${text.length} characters: it must be a number with a unit`);
    },
  );

  it('that is rejected is told the range of its option', () => {
    const range = { minMs: 250, maxMs: 86_400_000 };
    expect(() => parseDuration('--ttl', '5', range)).toThrow(
      '--ttl is "5": it must be a number with a unit, such as 500ms, 15s, 1.5m or 1h, from 250ms to 24h',
    );
  });

  it.each([
    [340, '340ms'],
    [2_500, '2.5s'],
    [15_000, '15s'],
    [90_000, '1.5m'],
    [86_400_000, '24h'],
    [982.7, '982ms'],
    [0, '0ms'],
  ])('of %i ms is shown as %s', (ms, text) => {
    expect(showDuration(ms)).toBe(text);
  });
});
