/** In the order in which they are run. */

import type { Scenario } from '../harness/run.ts';
import { handover } from './handover.ts';

export const scenarios: readonly Scenario[] = [handover];
