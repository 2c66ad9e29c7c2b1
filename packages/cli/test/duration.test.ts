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

  it.each(['', '5', 's', '-1s', '1 s', '1d', '1e3s', '5S'])('"%s" is rejected', (text) => {
    expect(() => parseDuration('--ttl', text)).toThrow(`--ttl is a string of ${text.length} characters`);
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
