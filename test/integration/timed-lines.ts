/**
 * Loaded by Node before a program of `examples`: reports each line that the program prints as an
 * event, with the program's own time, and when the program begins to handle SIGTERM.
 */

import { emit } from '@incumbent/test-support/child';

console.log = (...parts: readonly unknown[]): void => emit('line', { text: parts.join(' ') });
process.on('newListener', (event) => {
  if (event === 'SIGTERM') emit('stoppable');
});
