/** Clients of `incumbent serve`, which are killed and paused, as are their sidecars. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEtcd } from '@incumbent/test-support';
import { checkActs, ServeClient, startServe } from '../serve-clients.ts';
import { type Check, onServer } from './check.ts';
import { freshNamespace, storeUrl } from './pair.ts';

const TTL_MS = 4_000;

export const serveClients: Check = {
  name: 'serve-clients',
  claim:
    'No client of `incumbent serve` acts in a term after another client has acted in a later one, if clients and sidecars are killed or paused.',
  method:
    `Two sidecars, ttl ${TTL_MS} ms, on one etcd; a client in Python at the one leads, and one in shell at the other waits. In turn, SIGKILL or SIGSTOP of the client or of the sidecar ` +
    'that leads, at a random time; what was stopped goes on once the other client leads. The clients write the time of each act. margin: from the last act of a term to the first one of the next.',
  runs: 20,
  parallel: 1,
  open: onServer(
    () => startEtcd(),
    async (server, { random }, index) => {
      const store = storeUrl([server.url], freshNamespace());
      await using one = await startServe(store, 'one', { options: ['--ttl', `${TTL_MS}ms`] });
      await using two = await startServe(store, 'two', { options: ['--ttl', `${TTL_MS}ms`] });
      await using a = await ServeClient.start('python', one.url, 'a');
      await a.leadsAfter(0n);
      await using b = await ServeClient.start('shell', two.url, 'b');
      await sleep(1_000 + random() * 1_000);
      const [isKill, isClient] = [index % 2 === 0, index % 4 < 2];
      const before = a.term;
      if (isClient) a.signal(isKill ? 'SIGKILL' : 'SIGSTOP');
      else if (isKill) one.process.sigkill();
      else one.process.sigstop();
      await b.leadsAfter(before);
      if (!isKill && isClient) a.signal('SIGCONT');
      if (!isKill && !isClient) one.process.sigcont();
      await sleep(500);
      const marginMs = checkActs([a, b]);
      assert.ok(Number.isFinite(marginMs), 'there was one term only');
      return { figures: { marginMs } };
    },
  ),
};
