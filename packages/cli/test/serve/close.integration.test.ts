import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

import { makeCertificates, makeScratch } from '@incumbent/test-support';
import { expect, it } from 'vitest';

import { startServer } from '../../src/serve/http/listen.ts';

it.each(['with', 'without'])('the server ends %s TLS although a client has connected and sends nothing', async (how) => {
  const scratch = await makeScratch('serve-close');
  const { server: files } = await makeCertificates(scratch.path, 'client');
  const tls = { cert: readFileSync(files.cert), key: readFileSync(files.key) };
  const server = await startServer({
    address: { host: '127.0.0.1', port: 0 },
    access: { isLocal: true },
    routes: [],
    failed: () => {},
    ...(how === 'with' ? { tls } : {}),
  });
  const client = connect(Number(new URL(server.url).port), '127.0.0.1');
  client.on('error', () => {});
  await once(client, 'connect');
  await server.close();
  if (!client.closed) await once(client, 'close');
  expect(client.closed).toBe(true);
  await scratch.remove();
});
