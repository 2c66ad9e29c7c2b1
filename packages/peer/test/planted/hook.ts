/** Loaded before everything else: plants a bug of the votes. */

import { bestEffortBugs } from './best-effort-bugs.ts';
import { bugs } from './bugs.ts';
import { plant } from './plant.ts';

plant([...bugs, ...bestEffortBugs]);
