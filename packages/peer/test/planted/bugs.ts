/** All bugs to plant. The simulations must find each of them. */

import { bestEffortBugs } from './best-effort-bugs.ts';
import type { Bug } from './bug.ts';
import { emergentBugs } from './emergent-bugs.ts';
import { quorumBugs } from './quorum-bugs.ts';

export const bugs: readonly Bug[] = [...quorumBugs, ...bestEffortBugs, ...emergentBugs];
