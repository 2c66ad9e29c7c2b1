import { startKubernetes } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { it } from 'vitest';

import { exchanges } from './exchanges.ts';

await describeOnServer('the real API server', { store: 'kubernetes', start: () => startKubernetes() }, (server) => {
  it.concurrent.each(exchanges)('$name', async ({ run }) => {
    await run((...request) => server().call(...request));
  });
});
