/** Loaded before all other modules: plants a bug. */

import { bugs } from './bugs.ts';
import { plant } from './plant.ts';

plant(bugs);
