/**
 * A process that sends requests over Node's HTTP/2, four at a time, and discards the answers. It
 * shows how much memory Node itself takes for the answers of a hostile server. Arguments: the
 * server's URL, and the duration in ms. It begins on SIGUSR2, and emits `measured` at the end.
 */

import { once } from 'node:events';
import { connect, type ClientHttp2Session } from 'node:http2';

import { emit } from '@incumbent/test-support/child';

const [url = '', lastsMs = '4000'] = process.argv.slice(2);
const MIB = 2 ** 20;
const REQUESTS = 4;
/** The window of our etcd client. */
const WINDOW_BYTES = 2 ** 20;

async function discard(session: ClientHttp2Session): Promise<void> {
  const stream = session.request({ ':method': 'POST', ':path': '/etcdserverpb.KV/Range', 'content-type': 'application/grpc' });
  stream.on('data', () => {}).end();
  await once(stream, 'close');
}

// Keeps the process alive until it begins.
const waiting = setInterval(() => {}, 60_000);
const begun = once(process, 'SIGUSR2');
emit('warm');
await begun;
const baseRss = process.memoryUsage.rss();
let rss = 0;
const sampling = setInterval(() => {
  rss = Math.max(rss, process.memoryUsage.rss() - baseRss);
}, 1);
const session = connect(url, { settings: { initialWindowSize: WINDOW_BYTES } });
session.on('connect', () => session.setLocalWindowSize(WINDOW_BYTES));
const endsAtMs = performance.now() + Number(lastsMs);
while (performance.now() < endsAtMs) await Promise.all(Array.from({ length: REQUESTS }, () => discard(session)));
clearInterval(sampling);
clearInterval(waiting);
session.destroy();
emit('measured', { rssMiB: rss / MIB });
