import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';

import { EventStream } from '../../src/serve/http/event-stream.ts';

it('a stream is closed if its client does not read the events before, and not because one event is long', async () => {
  const begun = Promise.withResolvers<ServerResponse>();
  const server = createServer((_, response) => begun.resolve(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  // It never reads.
  const client = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1').pause();
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const stream = new EventStream(await begun.promise);
  stream.sendJson('long', JSON.stringify('x'.repeat(32 * 2 ** 20)));
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  expect([stream.closed.aborted, stream.isFull]).toEqual([false, true]);
  stream.ping();
  await expect.poll(() => stream.closed.aborted).toBe(true);
  client.destroy();
  server.close();
});
