/** Emits a heartbeat every few ms. Argument: its name. `deaf` ignores SIGTERM. */

import { readFileSync } from 'node:fs';
import { emit } from '@incumbent/test-support/child';

const [name = ''] = process.argv.slice(2);
if (name === 'deaf') process.on('SIGTERM', () => {});
// The parent may have ended, and with it the reader of this output.
process.on('disconnect', () => {});
const [, , group] = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1)?.split(' ') ?? [];
setInterval(() => emit('heartbeat', { name, pid: process.pid, group }), 5);
