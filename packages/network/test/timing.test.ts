import { expect, it } from 'vitest';

import { DIAL_TIMEOUT_MS, dialTimeoutMs } from '@incumbent/network';

it('all servers fit into the time for opening, and none has more than the time for one server', () => {
  for (const servers of [1, 2, 3, 7]) expect(servers * dialTimeoutMs(2_000, servers)).toBeLessThan(2_000);
  expect(dialTimeoutMs(600_000, 3)).toBe(DIAL_TIMEOUT_MS);
});
