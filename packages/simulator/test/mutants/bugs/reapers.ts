/** Bugs in how the leases of a dead process end. */

import { mutant, type Mutant } from '../mutant.ts';

export const reapers: readonly Mutant[] = [
  mutant(
    'reapsWithoutProof',
    'a reaper revokes before the death is proven: of a process, too, that merely stands still',
    'simulator/src/world/reaper.ts',
    "return this.#process.state === 'dead';",
    "return this.#process.state !== 'running';",
  ),
  mutant(
    'untoldLease',
    'a reaper is not told of leases, and a crash costs the whole ttl again',
    'core/src/lease/session.ts',
    'this.#reaperLease = context.reaper?.watch(lease.id);',
    '',
  ),
];
