/**
 * A minimal algorithm, which shows that the driver can run more than votes: each member that
 * campaigns leads for one second and sends nothing.
 */

import type { Algorithm, AlgorithmState, Validity } from '../src/index.ts';

interface Selfish extends AlgorithmState {
  readonly validity: Validity<'bestEffort'> | undefined;
}

export function selfish(members: readonly string[]): Algorithm<'bestEffort', Selfish, never, never> {
  return {
    name: 'selfish',
    safety: 'bestEffort',
    members,
    configuration: 'selfish',
    persists: false,
    start: () => ({ wakeAtMs: undefined, validity: undefined }),
    step: (state, input) => {
      if (input.type !== 'command') return { state, outputs: [] };
      const isEnd = input.command.type !== 'campaign';
      const validity = isEnd ? undefined : { term: undefined, round: 1, from: input.now, forMs: 1_000, safeForMs: 1_000 };
      const event = isEnd ? ({ type: 'ended', reason: 'resigned' } as const) : ({ type: 'elected' } as const);
      return { state: { wakeAtMs: undefined, validity }, outputs: [{ type: 'event', event }] };
    },
    validity: ({ validity }) => validity,
    view: () => ({ state: 'unknown' }),
    highestTerm: () => undefined,
    successor: () => undefined,
    whyNoSuccessor: () => 'it has none',
    sortOf: () => 'none',
    readMessage: () => undefined,
    readDurable: () => {
      throw new TypeError('it persists nothing');
    },
  };
}
