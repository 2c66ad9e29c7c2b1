import type { StoreCase } from '../case.ts';
import { declaredCases } from './declared.ts';
import { groupCases } from './group.ts';
import { handoverCases } from './handover.ts';
import { identityCases } from './identity.ts';
import { leadCases } from './lead.ts';
import { lossCases } from './loss.ts';
import { lostWriteCases } from './lost-writes.ts';
import { observeCases } from './observe.ts';
import { operatorCases } from './operator.ts';
import { silentWatchCases } from './silent-watch.ts';
import { successionCases } from './succession.ts';

/** What an election guarantees on every store. */
export const electionCases: readonly StoreCase[] = [
  ...declaredCases,
  ...leadCases,
  ...successionCases,
  ...handoverCases,
  ...silentWatchCases,
  ...operatorCases,
  ...lossCases,
  ...observeCases,
  ...identityCases,
  ...groupCases,
  ...lostWriteCases,
];
