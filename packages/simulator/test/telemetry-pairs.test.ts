/**
 * Tests the checker of telemetry pairs on made-up histories: what it must find, and what it must
 * not.
 */

import { describe, expect, it } from 'vitest';
import { TelemetryPairChecker } from '../src/check/leadership-end.ts';
import type { WorldEvent } from '../src/world/event.ts';
import { processOf, election, told } from './histories.ts';

describe('what telemetry tells of a leadership', () => {
  const process = processOf('a#1');
  const logged = (message: string, term = '1'): WorldEvent => ({ type: 'logged', process, message, election, term });
  const [begun, ended] = [logged('elected'), logged('leadership ended')];
  const stopped: WorldEvent = { type: 'stopped', process, left: { timers: 0, holds: 0, watches: 0, leases: 0 } };
  const broken = ['elected and ended are told in pairs'];

  it('is no finding where each beginning has its end', () => {
    expect(told(new TelemetryPairChecker(), begun, ended, logged('elected', '2'), logged('leadership ended', '2'), stopped)).toEqual([]);
    // A store that lost terms issues one again.
    expect(told(new TelemetryPairChecker(), begun, ended, begun, ended, stopped)).toEqual([]);
  });

  it('is found broken by a beginning without an end, unless the process died', () => {
    expect(told(new TelemetryPairChecker(), begun, stopped)).toEqual(broken);
    expect(told(new TelemetryPairChecker(), begun, { type: 'died', process }, stopped)).toEqual([]);
  });

  it('does not count once the process has died: what it logs in that instant is lost with it', () => {
    expect(told(new TelemetryPairChecker(), begun, { type: 'died', process }, ended)).toEqual([]);
  });

  it('is found broken by an end without a beginning, or one of two', () => {
    expect(told(new TelemetryPairChecker(), ended, stopped)).toEqual(broken);
    expect(told(new TelemetryPairChecker(), begun, ended, ended, stopped)).toEqual(broken);
    expect(told(new TelemetryPairChecker(), begun, begun, ended, stopped)).toEqual(broken);
  });
});
