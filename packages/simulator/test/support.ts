/** What several tests begin with. */

import type { StoreShape } from '../src/store/shape.ts';

/** A store that is never late and has no quirks. */
export const quietStore: StoreShape = {
  assignableLease: true,
  revisionsSurviveDeletion: true,
  expiryLateMs: 0,
  rate: 1,
  acknowledges: 'renewal',
  latency: { minMs: 1, maxMs: 3 },
  watchLagMs: 0,
  repeatRatio: 0,
};
