/** On a fake server in this process. */

import { describe, it } from 'vitest';

import { exchanges } from '../exchanges.ts';
import { FakeApiServer } from './api-server.ts';

describe('the fake API server', () => {
  it.concurrent.each(exchanges)('$name', async ({ run }) => {
    await using server = await FakeApiServer.start();
    await run((...request) => server.call(...request));
  });
});
