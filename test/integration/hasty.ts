/**
 * A process that binds a program to its life and is killed right afterwards, before its reaper
 * begins. Argument: the delay in ms.
 */

import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { reaper } from 'incumbent';
import { emit } from '@incumbent/test-support/child';

const [, , afterMs] = process.argv;
const program = spawn('/bin/sleep', ['60'], { detached: true, stdio: 'ignore' });
reaper().bindGroup(program.pid ?? 0);
emit('bound', { pid: program.pid });
await sleep(Number(afterMs));
process.kill(process.pid, 'SIGKILL');
