/** A program that says every 5 ms that it lives, and a child of it in its group: both deaf to SIGTERM. */

import { spawn } from 'node:child_process';
import { emit } from '@incumbent/test-support/child';

process.on('SIGTERM', () => {});
const [file = '', word] = process.argv.slice(1);
const child = word === undefined ? spawn(process.execPath, [...process.execArgv, file, 'child'], { stdio: 'inherit' }).pid : undefined;
// What a lock's or an election's command gave it that may be sent along: a number.
const numbered = Object.entries(process.env).some(([name, value = '']) => /^(?:CONSUL|ETCD|INCUMBENT)_/.test(name) && /^\d+$/.test(value));
// The program leads the group that it was started in.
if (word === undefined) emit('started', { group: process.pid, pid: process.pid, child, numbered, term: process.env['INCUMBENT_TERM'] });
setInterval(() => emit('beat', { term: process.env['INCUMBENT_TERM'] }), 5);
// No orphan outlives the check.
setTimeout(() => process.exit(99), 120_000).unref();
