/** Runs one member step by step, and records what it sends to another. */

import type { PeerConflict } from '../../src/algorithm.ts';
import { resolveRules } from '../../src/emergent/options.ts';
import type { EmergentMessage } from '../../src/emergent/message.ts';
import { membershipOf } from '../../src/emergent/view.ts';
import { emergent, type PeerMembership } from '../../src/index.ts';

export class One {
  readonly #algorithm = emergent({ cluster: 'x', heartbeatEveryMs: 100, failureTimeoutMs: 500 });
  #state;
  readonly conflicts: PeerConflict[] = [];

  constructor(memberId: string, seeds: readonly string[]) {
    this.#state = this.#algorithm.start({ memberId, now: { monotonicMs: 0, wallMs: 0 }, seed: 1, durable: undefined });
    const contacts = seeds.map((id) => ({ memberId: id, address: `at ${id}` }));
    this.#said = this.step(0, { type: 'command', command: { type: 'seeds', self: `at ${memberId}`, seeds: contacts } });
  }

  readonly #said: readonly { readonly to: string; readonly message: EmergentMessage }[];

  /** The stay that it has asked to be let in for. */
  get incarnation(): number {
    const join = this.#said.find(({ message }) => message.type === 'join')?.message;
    return join?.type === 'join' ? join.incarnation : 0;
  }

  get membership(): PeerMembership | undefined {
    const { phase } = this.#state;
    return phase.kind === 'present' ? membershipOf(resolveRules({ cluster: 'x' }), phase.list) : undefined;
  }

  /** Those that it has noted as leaving; undefined: it does not coordinate. */
  get leaving(): readonly string[] | undefined {
    const { phase } = this.#state;
    return phase.kind === 'present' && phase.role.kind === 'coordinating' ? phase.role.leaving : undefined;
  }

  step(atMs: number, input: object): readonly { readonly to: string; readonly message: EmergentMessage }[] {
    const now = { monotonicMs: atMs, wallMs: atMs };
    const { state, outputs } = this.#algorithm.step(this.#state, { ...input, now, position: { lastTerm: 0n, lastIndex: 0n } } as never);
    this.#state = state;
    for (const output of outputs)
      if (output.type === 'event' && output.event.type === 'conflict') this.conflicts.push(output.event.conflict);
    return outputs.flatMap((output) => (output.type === 'send' ? [output] : []));
  }

  receive(atMs: number, from: string, message: EmergentMessage): readonly EmergentMessage[] {
    return this.step(atMs, { type: 'message', from, message }).flatMap(({ to, message: said }) => (to === from ? [said] : []));
  }
}
