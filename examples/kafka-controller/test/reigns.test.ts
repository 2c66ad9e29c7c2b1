import { describe, expect, it } from 'vitest';
import { reigns } from '../demo/reigns.ts';
import { lives, told } from './histories.ts';

describe('the bar of terms', () => {
  const elected = (broker: string, term: bigint, at: number): ReturnType<typeof told> => told(broker, { type: 'elected', term, at });

  it('shows nobody from the moment at which the controller was killed', () => {
    const heard = [...elected('broker-1', 1n, 300), ...elected('broker-2', 2n, 1_500)];
    expect(reigns({ heard, lives, pauses: [] })).toMatchObject([
      { at: 300, term: 1n, broker: 'broker-1' },
      { at: 1_000, term: 1n, broker: null, reason: 'killed' },
      { at: 1_500, term: 2n, broker: 'broker-2' },
      { at: 10_000, broker: null },
    ]);
  });

  it('shows nobody while the controller is paused, and the controller again if it still leads afterwards', () => {
    const heard = elected('broker-2', 1n, 300);
    const pauses = [
      { broker: 'broker-2', from: 500, to: 700 },
      { broker: 'broker-3', from: 600, to: 800 },
      { broker: 'broker-2', from: 900, to: Infinity },
    ];
    expect(reigns({ heard, lives: [], pauses })).toMatchObject([
      { at: 300, broker: 'broker-2' },
      { at: 500, broker: null, reason: 'paused' },
      { at: 700, broker: 'broker-2' },
      { at: 900, broker: null, reason: 'paused' },
    ]);
  });

  it('does not show a paused controller again that wakes in the next term', () => {
    const ended = told('broker-2', { type: 'ended', term: 1n, reason: 'expired', at: 5_010 });
    const heard = [...elected('broker-2', 1n, 300), ...elected('broker-3', 2n, 4_000), ...ended];
    expect(reigns({ heard, lives: [], pauses: [{ broker: 'broker-2', from: 500, to: 5_000 }] })).toMatchObject([
      { at: 300, broker: 'broker-2' },
      { at: 500, broker: null, reason: 'paused' },
      { at: 4_000, broker: 'broker-3', term: 2n },
    ]);
  });

  it('names the reason with which a term ended', () => {
    const heard = [...elected('broker-2', 1n, 300), ...told('broker-2', { type: 'ended', term: 1n, reason: 'handover', at: 400 })];
    expect(reigns({ heard, lives: [], pauses: [] }).at(-1)).toMatchObject({ at: 400, broker: null, reason: 'handover' });
  });
});
