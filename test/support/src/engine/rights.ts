import { access, constants } from 'node:fs/promises';

import { run } from '../run.ts';
import { StoreUnavailable } from '../servers/source.ts';

/**
 * Process ids and mounts of its own, so that everything that an engine starts ends with it in any
 * case, and no mount is left behind. Its `/run` is also its own, so that several engines can run
 * side by side.
 */
export const SPACES = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'] as const;

const CGROUPS = '/sys/fs/cgroup';

/** Throws `StoreUnavailable` if this process may not start an engine, as in most containers. */
export async function checkRights(): Promise<void> {
  const why = process.getuid?.() === 0 ? await firstFailure() : 'only root can start one';
  if (why !== undefined) throw new StoreUnavailable('container engine', ['none answers', why]);
}

async function firstFailure(): Promise<string | undefined> {
  try {
    await run('unshare', [...SPACES, 'mount', '-t', 'tmpfs', 'tmpfs', '/run']);
    await access(CGROUPS, constants.W_OK);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
