/**
 * Runs the command that its arguments are, as a child; tells its process id, and how it ends. What
 * it starts may outlive it, and is then killed with this.
 */

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { emit } from '@incumbent/test-support/child';

const [command = '', ...args] = process.argv.slice(2);
const tool = spawn(command, args, { stdio: 'inherit' });
tool.once('exit', (code, signal) => emit('toolEnded', { code: code ?? 128 + (signal === null ? 0 : constants.signals[signal]) }));
tool.once('spawn', () => emit('tool', { pid: tool.pid }));
// What the tool leaves behind says for itself whether it lives.
setInterval(() => {}, 60_000);
