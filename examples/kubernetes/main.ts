/** A service whose pods elect one of them for background work. The manifests are beside it. */

import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { lead, openStore, type Leadership, type Store } from 'incumbent';
import { Monitor } from 'incumbent/monitor';

const [url = 'kubernetes:', port = '8080'] = process.argv.slice(2);

const monitor = new Monitor(); // before the first member
let isReady = false;
const server = createServer(({ url: path }, response) => {
  const health = monitor.health();
  const isOk = path === '/readyz' ? isReady : health.healthy;
  response.writeHead(isOk ? 200 : 503, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify(health)}\n`);
});
server.listen(Number(port));

const open = async (): Promise<Store> => {
  const store = await openStore(url);
  isReady = true;
  return store;
};
const sendMails = async (leadership: Leadership): Promise<void> => {
  console.log(`sends mails in term ${leadership.term}`);
  const { signal } = leadership;
  while (leadership.isValid()) await sleep(1_000, undefined, { signal }); // the mails of this second
};

// Kubernetes sets HOSTNAME to the name of the pod.
const memberId = process.env['HOSTNAME'] ?? 'local';
// At SIGTERM, hands over before the pod ends, or ends the wait for the store.
await lead(open, 'mailer', sendMails, { memberId, waitMs: Infinity });
isReady = false;
server.close();
server.closeAllConnections();
