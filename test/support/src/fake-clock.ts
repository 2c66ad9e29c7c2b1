import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { unpackedPackages } from './servers/packages.ts';

/**
 * The library's path in Debian's package, below the folder of the machine's architecture: the
 * variant for programs with threads.
 */
const LIBRARY = join('faketime', 'libfaketimeMT.so.1');

/**
 * The environment in which a process reads its wall clock's offset in seconds (`+3600`, `-60`) from
 * a file once a second. Its monotonic clock stays correct. Uses libfaketime from the system's
 * packages. If it is not available, calls `why` with the reason and returns undefined.
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
