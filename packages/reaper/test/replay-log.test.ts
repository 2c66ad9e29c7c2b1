import { expect, it } from 'vitest';

import { ReplayLog } from '../src/member/replay-log.ts';

it('a new reaper process gets nothing of members that have closed', () => {
  const log = new ReplayLog();
  for (let store = 1; store <= 3; store += 1) {
    log.add({ type: 'store', store, module: 'file:///m', access: '{}' });
    log.add({ type: 'lease', lease: 10 + store, store, owner: 1, ticket: 't' });
    if (store === 2) continue;
    log.add({ type: 'forget', lease: 10 + store });
    log.add({ type: 'dropStore', store });
  }
  expect(log.messages().map(({ type }) => type)).toEqual(['store', 'lease']);
});
