/** Loaded before everything else: plants a bug. */

import { bugs } from './bugs.ts';
import { plant } from './plant.ts';

plant(bugs);
