/** The options of what consists of several elections: slots and partitions. */

import type { ElectionOptions, PartitionOptions, SlotOptions } from 'incumbent';

import { clock, type OptionTable } from './option-help.ts';

/** Those that a `SlotElection` does not pass on to its elections. */
export const slotOptions: OptionTable<Omit<SlotOptions, keyof ElectionOptions>> = {
  slots: {
    type: 'number',
    range: 'an integer from 1 to 100',
    meaning: 'How many members may lead at the same time. The same for all members.',
  },
};

/** Those that a `PartitionedElection` does not pass on to its elections. */
export const partitionOptions: OptionTable<Omit<PartitionOptions, keyof ElectionOptions>> = {
  partitions: {
    type: 'number',
    range: 'an integer from 1 to 1,000',
    meaning: 'How many partitions there are. The same for all members.',
  },
  settleMs: {
    type: 'number',
    fallback: 3_000,
    range: [0, 600_000],
    meaning:
      'How long the list of members must stay the same before partitions move, in ms. A list ' +
      'that never stays the same for that long takes effect after ten times this time.',
  },
  clock,
};
