/** Node loads this module before all others. It plants the bug that `MUTANT` names. */

import { plantBug } from '@incumbent/test-support/planted-bug';

import { mutants } from './mutants.ts';

plantBug(mutants);
