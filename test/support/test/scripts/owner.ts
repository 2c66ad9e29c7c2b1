// Starts a server and a script of its own and then waits for its death, to see what becomes of
// them.
import { spawnScript, startEtcd } from '@incumbent/test-support';
import { emit } from '@incumbent/test-support/child';

const etcd = await startEtcd();
const ticker = await spawnScript(new URL('./ticker.ts', import.meta.url));
await ticker.waitFor('tick', { withinMs: 10_000 });
if (process.argv.includes('--paused')) {
  await etcd.pause();
  ticker.sigstop();
}
emit('owns', { url: etcd.url, ticker: ticker.pid, tmp: process.env['TMPDIR'] });
if (process.argv.includes('--exit')) process.exit(0);
setInterval(() => {}, 1_000);
