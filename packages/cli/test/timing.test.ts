import { Member } from '@incumbent/core';
import { openMemory } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { parseDuration, showDuration } from '../src/duration.ts';
import { parseHealthAddress } from '../src/run/health.ts';
import { runTiming } from '../src/run/timing.ts';

describe('the grace', () => {
  it.each([250, 1_000, 5_000, 15_000, 60_000])('of a ttl of %i ms, and SIGKILL after it, are over before the lease is', async (ttlMs) => {
    await using store = await openMemory();
    const { graceMs, killMs, drainMs } = runTiming(ttlMs, undefined, store);
    expect(graceMs + killMs).toBe(drainMs);
    expect([graceMs >= 0, killMs > 0]).toEqual([true, true]);
    // The member takes it: what must hold between a lease's times does.
    expect(new Member(store, { ttlMs, drainMs }).timing.drainMs).toBe(drainMs);
  });

  it('that is asked for and does not fit is refused, with the longest, and a ttl that has room for it', async () => {
    await using store = await openMemory();
    const message = /^--grace 20s does not fit into --ttl 15s: at most 4\.\d+s, .* --ttl (\d+)s has room for it$/;
    expect(() => runTiming(15_000, 20_000, store)).toThrow(message);
    const [, seconds] = message.exec(thrownBy(() => runTiming(15_000, 20_000, store))) ?? [];
    expect(runTiming(Number(seconds) * 1_000, 20_000, store).graceMs).toBe(20_000);
  });
});

function thrownBy(task: () => unknown): string {
  try {
    task();
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

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

  it.each(['', '5', 's', '-1s', '1 s', '1d', '1e3s', '5S'])('"%s" is none', (text) => {
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

describe('health', () => {
  it.each([
    ['8080', { host: undefined, port: 8080 }],
    ['127.0.0.1:8080', { host: '127.0.0.1', port: 8080 }],
    ['[::1]:8080', { host: '::1', port: 8080 }],
  ])('is told at %s', (text, address) => {
    expect(parseHealthAddress(text)).toEqual(address);
  });

  it.each(['', 'x', '70000', ':', '1.2.3.4:'])('is told nowhere at "%s"', (text) => {
    expect(() => parseHealthAddress(text)).toThrow(`--health-port is a string of ${text.length} characters`);
  });
});
