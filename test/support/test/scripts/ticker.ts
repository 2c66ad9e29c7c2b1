// Tells of its start, then ticks until it is ended; SIGTERM ends it in order. `--last` ends it at
// once.
import { emit } from '@incumbent/test-support/child';

emit('started', { pid: process.pid, args: process.argv.slice(2), greeting: process.env['GREETING'], big: 2n ** 63n - 1n });
console.log('not an event');
console.error('{"event":"neither"}');
process.on('SIGTERM', () => {
  emit('terminated');
  process.exit(7);
});
if (!process.argv.includes('--last')) setInterval(() => emit('tick'), 5);
