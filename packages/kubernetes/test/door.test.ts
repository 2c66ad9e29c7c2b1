import { expect, it } from 'vitest';

import { openDoor } from './door.ts';
import { FakeApiServer } from './fake/api-server.ts';
import { callApi } from './fake/call.ts';

it('a door passes requests and answers on, without a warning of Node about listeners', async () => {
  const warnings: string[] = [];
  const note = (warning: Error): void => void warnings.push(warning.name);
  process.on('warning', note);
  try {
    await using server = await FakeApiServer.start();
    const door = await openDoor(server.url);
    const { status } = await callApi({ url: door.url, token: server.tokens.admin }, 'GET', '/version');
    await door.close();
    expect([status, warnings]).toEqual([200, []]);
  } finally {
    process.off('warning', note);
  }
});
