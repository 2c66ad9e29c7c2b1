/** The pure functions that are explored: the real ones, or variants with a planted bug. */

import { next } from '../../../src/campaign/campaign-machine.ts';
import { claimChanges, handoverInOne, handoverInTwo, releaseChanges } from '../../../src/protocol/transactions.ts';
import { transition } from '../../../src/leadership/release-machine.ts';

export interface Machine {
  readonly next: typeof next;
  readonly transition: typeof transition;
  readonly claimChanges: typeof claimChanges;
  readonly handoverInOne: typeof handoverInOne;
  readonly handoverInTwo: typeof handoverInTwo;
  readonly releaseChanges: typeof releaseChanges;
}

export const real: Machine = { next, transition, claimChanges, handoverInOne, handoverInTwo, releaseChanges };
