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

/** Whether Prometheus's own checker can be had, as {@link requireStore} tells of a store. */
export function requirePromtool(): Promise<boolean> {
  return canBeHad(() => firstOf('promtool', places));
}

/** What it says. Throws with that where it finds something wrong. */
export async function promtool(args: readonly string[], input = ''): Promise<string> {
  return run(join(await firstOf('promtool', places), 'promtool'), args, { input });
}
