/** Loaded before everything else: plants a bug of the emergent leader. */

import { plant } from '../../planted/plant.ts';
import { bugs } from './bugs.ts';

plant(bugs);
