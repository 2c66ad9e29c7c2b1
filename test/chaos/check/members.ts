/** No member ends by itself, none gives up, every fault is repaired, and nothing is left behind. */

import { only } from '../history.ts';
import type { Rule } from './rule.ts';

export const membersStay: Rule = (history) => [
  ...only(history, 'died').flatMap(({ who, at, wanted, output }) => {
    const said = output.length === 0 ? '' : `; it said: ${output.slice(0, 12).join(' | ')}`;
    return wanted && said === ''
      ? []
      : [{ promise: 'a member stays', at, what: `${who} ${wanted ? 'had something to say' : 'ended by itself'}${said}` }];
  }),
  ...only(history, 'failed').map(({ who, at, error }) => ({ promise: 'a member stays', at, what: `${who} gave up: ${error}` })),
];

/** A member comes back after a fault. So does a server: else the rest of the run tests less. */
export const faultsAreRepaired: Rule = (history) =>
  only(history, 'unrepaired').map(({ fault, target, at, error }) => ({
    promise: 'every fault is repaired',
    at,
    what: `${target} did not recover from ${fault}: ${error}`,
  }));

export const nothingIsLeft: Rule = (history) =>
  only(history, 'left').flatMap(({ at, keys }) =>
    keys.length === 0 ? [] : [{ promise: 'nothing is left', at, what: `everybody has left, and there are ${keys.join(', ')}` }],
  );
