/**
 * Bugs in the handling of silent failures: of servers, connections, and entries that an operator
 * deletes.
 */

import { mutant, type Mutant } from '../mutant.ts';

export const silence: readonly Mutant[] = [
  mutant(
    'hungServerKept',
    'a client stays with a server that serves no reads',
    'simulator/src/network/link.ts',
    'if (!this.#servers.servesReads(server)) this.#leaveAll((connection) => connection.server === server);',
    '',
  ),
  mutant(
    'unansweredKept',
    'a call that is not answered leaves the client on its connection',
    'simulator/src/store/calls.ts',
    'this.#context.link.leave(over);',
    '',
  ),
  mutant(
    'silentConnectionKept',
    'a connection that has gone silent is not left',
    'simulator/src/network/link.ts',
    'this.#scheduler.after(SILENT_AFTER_MS, () => this.#leaveAll((connection) => connection.number <= number));',
    '',
  ),
  mutant(
    'oneServer',
    'every connection goes to the same one of several servers',
    'simulator/src/network/link.ts',
    'const [server = 0] = this.#next.splice(this.#next.length === 1 ? 0 : this.#random.below(this.#next.length), 1);',
    'const server = 0;',
  ),
  mutant(
    'removedUnchecked',
    'a candidate whose entry was deleted does not read whether it was elected before',
    'core/src/campaign/campaign-machine.ts',
    "return { phase: 'confirming', entry: state.entry, exit, entryGone: true };",
    "return { phase: 'out', exit };",
  ),
];
