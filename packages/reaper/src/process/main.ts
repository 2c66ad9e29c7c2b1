/** The reaper's own process. Its parent starts it with one end of a pipe, and tells it all that it knows by that. */

import { writeSync } from 'node:fs';
import { Socket } from 'node:net';

import type { OpenRevoker } from '@incumbent/core';

import { linesTo } from '../lines.ts';
import { readTold, writeLine, type Told, type Telling } from '../messages.ts';
import { machine, ownSpace } from '../system.ts';
import { Office } from './office.ts';
import { Revokers } from './revokers.ts';

/** Which of its descriptors is the pipe. */
const PIPE = 3;

/** Meant for the parent, whose end this one waits for. */
const NOT_MINE = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGPIPE'] as const;

async function load(module: string): Promise<OpenRevoker> {
  const loaded: unknown = await import(module);
  if (typeof loaded === 'object' && loaded !== null && 'openRevoker' in loaded && isOpenRevoker(loaded.openRevoker))
    return loaded.openRevoker;
  throw new TypeError('the module of a store has no function openRevoker');
}

function isOpenRevoker(value: unknown): value is OpenRevoker {
  return typeof value === 'function';
}

/** Ids mean the same to both, or nothing that was told can be proven. */
function isFit(message: Told): boolean {
  return message.type !== 'parent' || message.space === ownSpace();
}

/** Not by the socket: that a parent is dead by then, and does not hear it, would end the socket before all was read that it had told. */
function tell(telling: Telling): void {
  try {
    writeSync(PIPE, writeLine(telling));
  } catch {
    // Nobody is there to be told.
  }
}

function refuse(why: string): void {
  tell({ type: 'refused', why });
  process.exit(0);
}

for (const signal of NOT_MINE) process.on(signal, () => {});
process.title = `incumbent-reaper ${process.ppid}`;

const pipe = new Socket({ fd: PIPE, readable: true, writable: false });
const office = new Office({
  system: machine,
  revokers: new Revokers(machine.clock, load),
  isOrphan: (parent) => process.ppid !== parent,
});
const takeLine = linesTo((line) => {
  const message = readTold(line);
  if (isFit(message)) office.take(message);
  else refuse('it runs in other namespaces than the process that it is to outlive');
});
pipe.setEncoding('utf8');
pipe.on('data', takeLine);
pipe.once('close', () => office.hangUp());
pipe.once('end', () => office.hangUp());
pipe.on('error', () => {});
tell({ type: 'ready' });
void office.run().then(() => process.exit(0));
