/**
 * Tests the checker of telemetry pairs on made-up histories: what it must find, and what it must
 * not.
 */

import { describe, expect, it } from 'vitest';
import { TelemetryPairChecker } from '../src/check/leadership-end.ts';
import type { WorldEvent } from '../src/world/event.ts';
import { processOf, election, broken } from './histories.ts';

describe('the telemetry of a leadership', () => {
  const process = processOf('a#1');
  const logged = (message: string, term = '1'): WorldEvent => ({ type: 'logged', process, message, election, term });
  const [begun, ended] = [logged('elected'), logged('leadership ended')];
  const stopped: WorldEvent = { type: 'stopped', process, left: { timers: 0, holds: 0, watches: 0, leases: 0 } };
  const expected = ['elected and ended are told in pairs'];

  it('is accepted if each beginning has its end', () => {
    expect(broken(new TelemetryPairChecker(), begun, ended, logged('elected', '2'), logged('leadership ended', '2'), stopped)).toEqual([]);
    // A store that lost terms issues one again.
    expect(broken(new TelemetryPairChecker(), begun, ended, begun, ended, stopped)).toEqual([]);
  });

  it('is reported for a beginning without an end, unless the process died', () => {
    expect(broken(new TelemetryPairChecker(), begun, stopped)).toEqual(expected);
    expect(broken(new TelemetryPairChecker(), begun, { type: 'died', process }, stopped)).toEqual([]);
  });

  it('does not count after the process has died', () => {
    expect(broken(new TelemetryPairChecker(), begun, { type: 'died', process }, ended)).toEqual([]);
  });

  it('is reported for an end without a beginning, or with two', () => {
    expect(broken(new TelemetryPairChecker(), ended, stopped)).toEqual(expected);
    expect(broken(new TelemetryPairChecker(), begun, ended, ended, stopped)).toEqual(expected);
    expect(broken(new TelemetryPairChecker(), begun, begun, ended, stopped)).toEqual(expected);
  });
});
