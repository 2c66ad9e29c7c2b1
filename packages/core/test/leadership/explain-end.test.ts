import { describe, expect, it } from 'vitest';
import { IncumbentError, type LeadershipEnd, StoreError } from '../../src/index.ts';
import { explainEnd } from '../../src/leadership/release-machine.ts';
import { led } from '../support/led.ts';
import { TTL_MS } from '../support/world.ts';

function ended(facts: Partial<LeadershipEnd>): string {
  return explainEnd({
    ...{ election: 'controller', term: 13n, reason: 'deadline', lost: true, drainMs: 0 },
    ...{ lastRenewalAt: 0, sinceRenewalMs: 6_000, loopBlockedMs: 3, errors: [] },
    ...facts,
  });
}

describe('the message of LEADERSHIP_ENDED', () => {
  it('says for how long there was no renewal, and what may have caused that', () => {
    expect(ended({})).toBe('at its deadline: no renewal for 6.0 s');
    expect(ended({ loopBlockedMs: 5_910 })).toBe('at its deadline: no renewal for 6.0 s; the event loop was blocked for 5.9 s');
    const errors = [
      new StoreError('TIMEOUT', 'unknown', 'no answer'),
      new StoreError('UNREACHABLE', 'notSent', 'no server'),
      new Error('!'),
    ];
    expect(ended({ errors })).toBe("at its deadline: no renewal for 6.0 s; the store's last error was UNREACHABLE");
  });

  it('names no circumstances of an end that was intended', () => {
    expect(ended({ reason: 'resigned', lost: false, loopBlockedMs: 5_910 })).toBe('because it resigned');
  });

  it('is what a leader gets that acts after its end', async () => {
    const { world, leadership, store } = await led();
    store.link.refuse();
    await world.pass(TTL_MS);
    expect(() => leadership.assertValid()).toThrow(
      /^leadership of "controller" in term 1 ended at its deadline: no renewal for \d+\.\d s; the store's last error was UNREACHABLE$/,
    );
    expect(leadership.signal.reason).toBeInstanceOf(IncumbentError);
  });
});
