import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { unpackedPackages } from './servers/packages.ts';

/**
 * Where Debian's package puts it, below a folder of the machine's kind; the one for programs with
 * threads.
 */
const LIBRARY = join('faketime', 'libfaketimeMT.so.1');

/**
 * The environment in which a process takes its wall clock's offset, in seconds, from a file
 * (`+3600`, `-60`), and looks at it once a second; its monotonic clock stays true. By libfaketime,
 * from the system's packages. Undefined where it cannot be had: then `why` is called with the
 * reason.
 */
export async function findFakeClock(
  why: (error: unknown) => void,
): Promise<((offsetFile: string) => Readonly<Record<string, string>>) | undefined> {
  try {
    const folder = join(await unpackedPackages({ names: ['libfaketime'] }), 'usr', 'lib');
    const library = join(folder, (await readdir(folder))[0] ?? '', LIBRARY);
    return (offsetFile) => ({
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: offsetFile,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    });
  } catch (error) {
    why(error);
    return undefined;
  }
}
