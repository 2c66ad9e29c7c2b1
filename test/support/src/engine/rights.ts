import { access, constants } from 'node:fs/promises';

import { run } from '../run.ts';
import { StoreUnavailable } from '../servers/source.ts';

/**
 * Process ids and mounts of its own, so that whatever an engine starts ends with it, whatever way
 * it ends, and leaves no mount behind. What it keeps under `/run` is its own as well, so that
 * several can run side by side.
 */
export const SPACES = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'] as const;

const CGROUPS = '/sys/fs/cgroup';

/**
 * Throws `StoreUnavailable` where this process may not do what it takes to start an engine, as
 * within most containers.
 */
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
