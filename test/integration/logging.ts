/**
 * Runs the Go program in its arguments as a child, passes SIGTERM on, and exits with its code.
 * Reports each line of its log as an event, at the time in UTC with which the line begins. The
 * program is killed when this process is.
 */

import { createInterface } from 'node:readline';
import { supervise } from '@incumbent/test-support';
import { emit } from '@incumbent/test-support/child';

const LINE = /^(\d{4})\/(\d\d)\/(\d\d) (\S+) (.*)$/;

const [command = '', ...args] = process.argv.slice(2);
const program = await supervise(command, args, { stdout: 'pipe', stderr: 'pipe' });
process.on('SIGTERM', () => program.signal('SIGTERM'));
emit('stoppable');
program.stdout?.pipe(process.stdout);
if (program.stderr === null) throw new Error('a program without a log');

for await (const line of createInterface({ input: program.stderr, crlfDelay: Infinity })) {
  const [, year, month, day, time, text] = LINE.exec(line) ?? [];
  if (text === undefined) console.error(line);
  else emit('line', { text }, momentOf(`${year}-${month}-${day}T${time}Z`));
}
process.exitCode = await program.exited;

/** A time of the wall clock, on the clock of events. Within about a millisecond. */
function momentOf(time: string): bigint {
  return process.hrtime.bigint() - BigInt(Math.round((Date.now() - Date.parse(time)) * 1e6));
}
