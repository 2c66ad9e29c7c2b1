/** Tests that need rights of this process, and are skipped without them. */

import { spawnSync } from 'node:child_process';
import { writeSync } from 'node:fs';

/**
 * Whether this process may have namespaces made with these flags of `unshare`, for
 * `describe.runIf(canUnshare(…))`: the runner then counts what is skipped. Where it may not, this
 * says so on standard error.
 */
export function canUnshare(...flags: readonly string[]): boolean {
  const { status, stderr, error } = spawnSync('unshare', [...flags, 'true'], { encoding: 'utf8' });
  return status === 0 || isSkipped(`no namespaces to be had by unshare ${flags.join(' ')}: ${error?.message ?? stderr.trim()}`);
}

/** Says on standard error why tests are skipped. Returns false, for `describe.runIf`. */
export function isSkipped(why: string): false {
  // Past the runner, which may hide what a test file prints.
  writeSync(2, `SKIPPED TESTS: ${why}\n`);
  return false;
}
