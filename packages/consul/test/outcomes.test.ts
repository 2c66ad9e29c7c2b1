/** What no agent says, and what lies between may: it is not known what became of the request. */

import { expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';
import { opens, startFakeAgent } from './fake-agent.ts';

it.each([202, 204, 408, 499])('a write that is answered with %d may have happened', async (status) => {
  await using agent = await startFakeAgent(opens);
  await using store = await openConsul({ endpoint: agent.endpoint });
  agent.answer = () => ({ status });
  const writing = store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array([1]) }], { timeoutMs: 2_000 });
  await expect(writing).rejects.toMatchObject({ code: 'STORE_FAILED', outcome: 'unknown' });
});
