/** A process that opens a client and then has nothing to do. Its arguments: the server's URL, and what it leaves behind. */

import { createHook } from 'node:async_hooks';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

import { emit } from '@incumbent/test-support';

import { openClient, type Client } from '../../../src/wire/client.ts';
import { sync } from '../../../src/wire/nodes.ts';
import { CALL, realOptions } from '../real.ts';

const [url = '', mode = ''] = process.argv.slice(2);

/** What is there now and was made since this began: timers and sockets, whether they hold the process or not. */
const alive = new Map<number, string>();
createHook({
  init: (id, type) => {
    if (/^(Timeout|TCPWRAP|TLSWRAP)$/.test(type)) alive.set(id, type);
  },
  destroy: (id) => void alive.delete(id),
}).enable();

const modes: Readonly<Record<string, (client: Client) => Promise<void>>> = {
  /** Two sessions, and a watch. */
  idle: async (client) => {
    await client.openSession({ timeoutMs: 4_000 }, CALL);
    const stood = Promise.withResolvers<void>();
    client.shared.watch('/', 'tree', { changed: () => stood.resolve(), stale: () => {}, ended: () => {} });
    const waiting = setInterval(() => {}, 1_000);
    await stood.promise;
    clearInterval(waiting);
  },
  /** A call that nobody answers, which ends well after everything else has. */
  call: async (client) => {
    emit('cut', {});
    await sleep(500);
    void client.shared.request(sync, '/', { timeoutMs: 2_000 }).catch((error: unknown) => emit('failed', { error: String(error) }));
  },
  /** A server that is looked for. */
  orphaned: async (client) => {
    const lost = Promise.withResolvers<void>();
    client.shared.watch('/', 'tree', { changed: () => emit('watching', {}), stale: () => lost.resolve(), ended: () => {} });
    const waiting = setInterval(() => {}, 1_000);
    await lost.promise;
    clearInterval(waiting);
  },
  closed: async (client) => {
    await client.openSession({ timeoutMs: 4_000 }, CALL);
    await client.close();
    // Node tells of the end of a socket, and of its timers, a turn later.
    await sleep(20);
    await setImmediate();
    emit('left', { resources: [...alive.values()] });
  },
};

for (const event of ['unhandledRejection', 'warning'] as const) process.on(event, (what) => emit('unhandled', { what: String(what) }));

const client = await openClient(realOptions([url]), CALL);
await modes[mode]!(client);
emit('done', {});
