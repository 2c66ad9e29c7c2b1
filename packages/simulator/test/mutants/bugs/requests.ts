/** Bugs in how an operator's requests are written and obeyed. */

import { mutant, type Mutant } from '../mutant.ts';

export const requests: readonly Mutant[] = [
  mutant(
    'requestOfAnyTerm',
    'a request is written for whoever leads now, whatever term the operator named',
    'core/src/observer/admin.ts',
    '    if (record.term !== term || record.ended !== undefined) return undefined;\n    const entry = await this.#store.read(record.entry, call);\n    const leader = await this.#store.read(this.#keys.leader, call);\n    if (entry === undefined || leader === undefined || readLeader(leader).term !== term) return undefined;',
    '    if (record.ended !== undefined) return undefined;\n    const entry = await this.#store.read(record.entry, call);\n    if (entry === undefined) return undefined;',
  ),
  mutant(
    'deafToStepDown',
    'a leader ignores the request to step down',
    'core/src/leadership/leader-record.ts',
    "if (stepDown === true) this.#onNews({ type: 'stepDown' });",
    '',
  ),
];
