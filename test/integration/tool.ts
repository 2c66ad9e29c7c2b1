/**
 * Runs the command in its arguments as a child, and reports its process id and how it ends.
 * Processes that the command leaves behind are killed together with this one.
 */

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { emit } from '@incumbent/test-support/child';

const [command = '', ...args] = process.argv.slice(2);
const tool = spawn(command, args, { stdio: 'inherit' });
tool.once('exit', (code, signal) => emit('toolEnded', { code: code ?? 128 + (signal === null ? 0 : constants.signals[signal]) }));
tool.once('spawn', () => emit('tool', { pid: tool.pid }));
// Processes that the tool leaves behind report themselves whether they live.
setInterval(() => {}, 60_000);
