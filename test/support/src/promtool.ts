import { join } from 'node:path';

import { run } from './run.ts';
import { folderOnPath } from './servers/find.ts';
import { unpackedPackages } from './servers/packages.ts';
import { canBeHad } from './servers/require.ts';
import { firstOf, type Candidate } from './servers/source.ts';

const places: readonly Candidate<string>[] = [
  { what: 'promtool on the PATH', find: () => folderOnPath('promtool') },
  { what: "the system's packages", find: async () => join(await unpackedPackages({ names: ['prometheus'] }), 'usr', 'bin') },
];

/** Whether Prometheus's own checker is available, reported as {@link requireStore} does. */
export function requirePromtool(): Promise<boolean> {
  return canBeHad(() => firstOf('promtool', places));
}

/** Returns its output. Throws with its output if it finds an error. */
export async function promtool(args: readonly string[], input = ''): Promise<string> {
  return run(join(await firstOf('promtool', places), 'promtool'), args, { input });
}
