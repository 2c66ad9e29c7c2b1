/** Whether a program can be run, before anybody campaigns for it: a machine that lacks it had better not lead. */

import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { showText } from '@incumbent/core/adapter';

import { CliError, Exit } from '../exit.ts';

/** Throws what a shell would say, with its codes: 127, not found; 126, there, but cannot be run. */
export function checkProgram(program: string, path: string | undefined): void {
  const places = program.includes('/')
    ? [program]
    : (path ?? '').split(delimiter).map((folder) => join(folder === '' ? '.' : folder, program));
  const there = places.filter(isFile);
  if (there.some(isExecutable)) return;
  // A URL may stand in its place.
  const { shown } = showText(program);
  if (there.length > 0) throw new CliError(Exit.NOT_EXECUTABLE, `${shown} cannot be run: permission denied`);
  throw new CliError(Exit.NOT_FOUND, `${shown} is not there: no such program`);
}

/** False as well in a folder that may not be looked into. */
function isFile(place: string): boolean {
  try {
    return statSync(place).isFile();
  } catch {
    return false;
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
