/** Plausible bugs. The simulator must catch every one. */

import { validity } from './bugs/validity.ts';
import { claims } from './bugs/claims.ts';
import { ends } from './bugs/ends.ts';
import { members } from './bugs/members.ts';
import { reapers } from './bugs/reapers.ts';
import { requests } from './bugs/requests.ts';
import { silence } from './bugs/silence.ts';
import { watches } from './bugs/watches.ts';
import type { Mutant } from './mutant.ts';

export const mutants: readonly Mutant[] = [...validity, ...claims, ...ends, ...members, ...reapers, ...requests, ...silence, ...watches];
