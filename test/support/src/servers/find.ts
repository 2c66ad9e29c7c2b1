import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** The first folder of the PATH that contains all these programs. Undefined if there is none. */
export async function folderOnPath(...programs: readonly string[]): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    if (folder !== '' && (await hasAll(folder, programs))) return folder;
  }
  return undefined;
}

async function hasAll(folder: string, programs: readonly string[]): Promise<boolean> {
  return Promise.all(programs.map((program) => access(join(folder, program), constants.X_OK))).then(
    () => true,
    () => false,
  );
}
