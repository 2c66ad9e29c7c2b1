/** Checks before the campaign that the program can be run: a machine without it should not lead. */

import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { showText } from '@incumbent/core/adapter';

import { CliError, Exit } from '../exit.ts';

/**
 * @throws A `CliError` with a shell's exit code: 127 if the program is not found, 126 if it is not
 *   executable.
 */
export function checkProgram(program: string, searchPath: string | undefined): void {
  const paths = program.includes('/')
    ? [program]
    : (searchPath ?? '').split(delimiter).map((folder) => join(folder === '' ? '.' : folder, program));
  const files = paths.filter(isFile);
  if (files.some(isExecutable)) return;
  // The name may be a store's URL by mistake, so secrets in it are not shown.
  const { shown } = showText(program);
  if (files.length > 0) throw new CliError(Exit.NOT_EXECUTABLE, `${shown} cannot be run: permission denied`);
  throw new CliError(Exit.NOT_FOUND, `${shown} was not found: no such program`);
}

/** False also if the folder cannot be read. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
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
