import { expect, it } from 'vitest';

import { notificationIn, probeIn } from '../src/watch-hub/probe.ts';

it('a notification names the keys that one transaction has changed', () => {
  expect(notificationIn('17 -\nelections/a/term')).toEqual({ revision: 17, remainingMs: undefined, keys: ['elections/a/term'] });
  expect(notificationIn('1700000000000000 2500\na\nb/c')).toEqual({
    revision: 1_700_000_000_000_000,
    remainingMs: 2_500,
    keys: ['a', 'b/c'],
  });
});

it.each(['', 'a', '17 -', '17 -\n', '17\na', '-1 -\na', '17 x\na', '12345678901234567 -\na', '17 2500 elections/a/term'])(
  'a notification of somebody else is ignored: %j',
  (payload) => {
    expect(notificationIn(payload)).toBeUndefined();
  },
);

it('the answer to the question for lost notifications has the same numbers', () => {
  expect(probeIn([['7', null]])).toEqual({ revision: 7, remainingMs: undefined });
  expect(probeIn([['7', '12']])).toEqual({ revision: 7, remainingMs: 12 });
});
