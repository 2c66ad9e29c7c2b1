// Tells more at once than fits between it and its parent, as soon as it is told to.
import { emit } from '@incumbent/test-support/child';

process.once('SIGUSR2', () => {
  for (let number = 0; number < 2_000; number += 1) emit('told', { number, padding: 'x'.repeat(1_000) });
  process.exit(0);
});
// What has once been written to as a stream does not block any more.
process.stdout.write('');
emit('ready');
setInterval(() => {}, 1_000);
