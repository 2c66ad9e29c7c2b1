/** Tells every few ms that it is there. Argument: what it is called; `deaf` hears no SIGTERM. */

import { readFileSync } from 'node:fs';
import { emit } from '@incumbent/test-support/child';

const [name = ''] = process.argv.slice(2);
if (name === 'deaf') process.on('SIGTERM', () => {});
// Whoever started it may be gone, and with it where it writes to.
process.on('disconnect', () => {});
const [, , group] = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1)?.split(' ') ?? [];
setInterval(() => emit('heartbeat', { name, pid: process.pid, group }), 5);
