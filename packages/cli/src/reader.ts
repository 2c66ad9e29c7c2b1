/** Whether anybody still reads what goes into a pipe: a command that waits for news would otherwise find out with its next line, which may never come. */

import { closeSync, constants, fstatSync, openSync } from 'node:fs';

const EVERY_MS = 500;

/** Calls `gone` once when the pipe's reader has gone; returns what ends the looking. For anything but a pipe, and where there is no `/proc`, nothing is done. */
export function onReaderGone(fd: number, gone: () => void): () => void {
  if (!isPipe(fd)) return () => {};
  const timer = setInterval(() => {
    if (!hasNoReader(fd)) return;
    clearInterval(timer);
    gone();
  }, EVERY_MS);
  return () => clearInterval(timer);
}

function isPipe(fd: number): boolean {
  try {
    return fstatSync(fd).isFIFO();
  } catch {
    return false;
  }
}

/** To open a pipe for writing without waiting for a reader fails with this code where there is none: fifo(7). */
function hasNoReader(fd: number): boolean {
  try {
    closeSync(openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK));
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENXIO';
  }
}
