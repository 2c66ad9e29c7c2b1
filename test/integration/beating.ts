/** A program that says every 5 ms that it lives, and a child of it in its group: both deaf to SIGTERM. */

import { spawn } from 'node:child_process';
import { emit } from '@incumbent/test-support';

process.on('SIGTERM', () => {});
const [file = '', word] = process.argv.slice(1);
if (word === undefined) spawn(process.execPath, [...process.execArgv, file, 'child'], { stdio: 'inherit' });
// The program leads the group that it was started in.
if (word === undefined) emit('started', { group: process.pid, term: process.env['INCUMBENT_TERM'] });
setInterval(() => emit('beat', { term: process.env['INCUMBENT_TERM'] }), 5);
// No orphan outlives the check.
setTimeout(() => process.exit(99), 120_000).unref();
