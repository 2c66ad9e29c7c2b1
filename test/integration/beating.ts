/**
 * A program that emits a heartbeat every 5 ms, with a child in its group that does the same. Both
 * ignore SIGTERM.
 */

import { spawn } from 'node:child_process';
import { emit } from '@incumbent/test-support/child';

process.on('SIGTERM', () => {});
const [file = '', word] = process.argv.slice(1);
const child = word === undefined ? spawn(process.execPath, [...process.execArgv, file, 'child'], { stdio: 'inherit' }).pid : undefined;
// Whether the command of the lock or the election has set a variable with a number, which could
// serve as a fencing token.
const numbered = Object.entries(process.env).some(([name, value = '']) => /^(?:CONSUL|ETCD|INCUMBENT)_/.test(name) && /^\d+$/.test(value));
// The program is the first process of its group.
if (word === undefined) emit('started', { group: process.pid, pid: process.pid, child, numbered, term: process.env['INCUMBENT_TERM'] });
setInterval(() => emit('beat', { term: process.env['INCUMBENT_TERM'] }), 5);
// An orphan ends after the check.
setTimeout(() => process.exit(99), 120_000).unref();
