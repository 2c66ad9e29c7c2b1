/** No member ends by itself, none gives up, and nothing is left behind. */

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

export const nothingIsLeft: Rule = (history) =>
  only(history, 'left').flatMap(({ at, keys }) =>
    keys.length === 0 ? [] : [{ promise: 'nothing is left', at, what: `everybody has left, and there are ${keys.join(', ')}` }],
  );
