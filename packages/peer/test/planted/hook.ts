/** Loaded before everything else: plants a bug of the votes. */

import { bugs } from './bugs.ts';
import { plant } from './plant.ts';

plant(bugs);
