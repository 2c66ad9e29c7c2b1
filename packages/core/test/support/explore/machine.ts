/** The pure functions that are explored: the real ones, or variants with a planted bug. */

import type { Change, Entry } from '../../../src/index.ts';
import { transition as campaign } from '../../../src/campaign/campaign-machine.ts';
import { claimChanges, handoverInOne, handoverInTwo, releaseChanges } from '../../../src/protocol/transactions.ts';
import { transition as release } from '../../../src/leadership/release-machine.ts';

export interface Machine {
  readonly campaign: typeof campaign;
  readonly release: typeof release;
  readonly claimChanges: typeof claimChanges;
  readonly handoverInOne: typeof handoverInOne;
  readonly handoverInTwo: typeof handoverInTwo;
  readonly releaseChanges: typeof releaseChanges;
}

export const real: Machine = { campaign, release, claimChanges, handoverInOne, handoverInTwo, releaseChanges };

/**
 * The functions of an older version: it reads no field `elected`, writes none in a handover, and
 * keeps one that is there.
 */
export function olderThan(machine: Machine): Machine {
  return {
    ...machine,
    campaign: (state, event, rules) =>
      machine.campaign(state, event.type === 'entryChanged' ? { ...event, entry: withoutElected(event.entry) } : event, rules),
    handoverInOne: (handover, lease) =>
      machine.handoverInOne(handover, lease).map((change) => (change.key === handover.successor.entry.key ? older(change) : change)),
  };
}

function older(change: Change): Change {
  return 'put' in change ? { ...change, put: valueWithoutElected(change.put) } : change;
}

function withoutElected(entry: Entry): Entry {
  return { ...entry, value: valueWithoutElected(entry.value) };
}

const [utf8, fromUtf8] = [new TextEncoder(), new TextDecoder()];

function valueWithoutElected(value: Uint8Array): Uint8Array {
  const { elected: _, ...others } = JSON.parse(fromUtf8.decode(value));
  return utf8.encode(JSON.stringify(others));
}
