/**
 * A program for `run`. It emits an event at its start, for each signal, and every 5 ms. Arguments:
 *
 * - `ignores`: ignores SIGTERM, SIGINT, SIGHUP and SIGQUIT;
 * - `exits N` or `dies SIGNAL`: ends, `after MS` if given;
 * - `child`: starts another one in its group, which ignores those signals;
 * - `leaves`: starts such a child, and exits;
 * - `fills FOLDER`: fills the folder's disk while the term is 1.
 */

import { spawn } from 'node:child_process';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { emit } from '@incumbent/test-support/child';

const args = process.argv.slice(2);
const has = (word: string): boolean => args.includes(word);
const after = (word: string): string | undefined => (has(word) ? args[args.indexOf(word) + 1] : undefined);

const { INCUMBENT_TERM: term, INCUMBENT_ELECTION: election, INCUMBENT_MEMBER: member, INCUMBENT_SLOT: slot } = process.env;
const who = after('as') ?? 'program';

for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGQUIT'] as const) {
  if (after('dies') === name) continue;
  process.on(name, () => {
    emit('signal', { name, who, term });
    if (!has('ignores') && !name.startsWith('SIGUSR') && !(has('reloads') && name === 'SIGHUP')) process.exit(Number(after('then') ?? 0));
  });
}

if (has('child') || has('leaves')) {
  const [file = ''] = process.argv.slice(1);
  const child = spawn(process.execPath, [...process.execArgv, file, 'ignores', 'as', 'child'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.once('message', () => has('leaves') && process.exit(7));
  child.unref();
}
// One event with the environment and the arguments, so that a test sees them together.
emit('started', { pid: process.pid, who, term, election, member, slot, args });
process.send?.('started');
process.disconnect?.();

// Fills the disk in its first term, and frees it at its end.
const ballast = after('fills') === undefined || term !== '1' ? undefined : join(after('fills') ?? '', 'ballast');
if (ballast !== undefined) {
  try {
    for (;;) appendFileSync(ballast, Buffer.alloc(512));
  } catch {
    emit('full');
  }
  process.once('exit', () => rmSync(ballast));
}

const ends = setTimeout(
  () => {
    const signal = after('dies');
    if (signal !== undefined) process.kill(process.pid, signal);
    else process.exit(Number(after('exits') ?? 0));
  },
  Number(after('after') ?? 0),
);
if (!has('exits') && !has('dies')) clearTimeout(ends);
// An orphan ends after the tests.
setTimeout(() => process.exit(99), 90_000).unref();
setInterval(() => emit('beat', { who, term }), 5);
