/**
 * The entry point of the reaper process. The parent starts it with one end of a pipe, and sends its
 * messages through that pipe.
 */

import { writeSync } from 'node:fs';
import { Socket } from 'node:net';

import { loadRevoker } from '@incumbent/core/adapter';

import { parseParentMessage, serializeMessage, splitLines, type ParentMessage, type ReaperMessage } from '../messages.ts';
import { machine, ownNamespaces } from '../system.ts';
import { ReaperLoop } from './reaper-loop.ts';
import { Revokers } from './revokers.ts';

/** The file descriptor of the pipe. */
const PIPE = 3;

/**
 * Signals that are meant for the parent. The reaper ignores them, because it must outlive the
 * parent.
 */
const IGNORED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGPIPE'] as const;

/** Whether the parent's process ids mean the same here. Otherwise no death can be proven. */
function isInSameNamespaces(message: ParentMessage): boolean {
  return message.type !== 'parent' || message.space === ownNamespaces();
}

/**
 * Writes to the descriptor directly. A write to the socket fails if the parent is dead, and that
 * failure would end the socket before all messages of the parent were read.
 */
function send(message: ReaperMessage): void {
  try {
    writeSync(PIPE, serializeMessage(message));
  } catch {
    // The parent has closed its end.
  }
}

function refuse(why: string): void {
  send({ type: 'refused', why });
  process.exit(0);
}

for (const signal of IGNORED) process.on(signal, () => {});
process.title = `incumbent-reaper ${process.ppid}`;

const pipe = new Socket({ fd: PIPE, readable: true, writable: false });
const loop = new ReaperLoop({
  system: machine,
  revokers: new Revokers(machine.clock, loadRevoker),
  isOrphan: (parent) => process.ppid !== parent,
});
const takeChunk = splitLines((line) => {
  const message = parseParentMessage(line);
  if (isInSameNamespaces(message)) loop.receive(message);
  else refuse('the reaper runs in other namespaces than the process that it watches');
});
pipe.setEncoding('utf8');
pipe.on('data', takeChunk);
pipe.once('close', () => loop.pipeClosed());
pipe.once('end', () => loop.pipeClosed());
pipe.on('error', () => {});
send({ type: 'ready' });
void loop.run().then(() => process.exit(0));
