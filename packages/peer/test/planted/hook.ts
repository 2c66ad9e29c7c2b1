/** Loaded before all other modules: plants the bug that the environment variable `MUTANT` names. */

import { plantBug } from '@incumbent/test-support/planted-bug';

import { bugs } from './bugs.ts';

plantBug(bugs.map((bug) => ({ ...bug, file: `peer/src/${bug.file}` })));
