import type { StoreCase } from '../case.ts';
import { abortCases } from './abort.ts';
import { capabilityCases } from './capabilities.ts';
import { closeCases } from './close.ts';
import { leaseCases } from './leases.ts';
import { lostWriteCases } from './lost-writes.ts';
import { operatorCases } from './operator.ts';
import { queueCases } from './queue.ts';
import { readCases } from './reads.ts';
import { swapLeaseCases } from './swap-lease.ts';
import { swapLimitCases } from './swap-limits.ts';
import { swapProductCases } from './swap-product.ts';
import { swapRaceCases } from './swap-race.ts';
import { swapCases } from './swap.ts';
import { unknownCases } from './unknown.ts';
import { watchEndCases } from './watch-end.ts';
import { watchFaultCases } from './watch-faults.ts';
import { watchListCases } from './watch-list.ts';
import { watchCases } from './watch.ts';

/** The cases of the store contract. Every store must pass all that apply to it. */
export const storeCases: readonly StoreCase[] = [
  ...capabilityCases,
  ...swapCases,
  ...swapProductCases,
  ...swapRaceCases,
  ...swapLeaseCases,
  ...swapLimitCases,
  ...leaseCases,
  ...queueCases,
  ...readCases,
  ...watchCases,
  ...watchListCases,
  ...watchEndCases,
  ...watchFaultCases,
  ...unknownCases,
  ...lostWriteCases,
  ...abortCases,
  ...closeCases,
  ...operatorCases,
];
