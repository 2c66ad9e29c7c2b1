/** The reaper as users give it to their members. */

import type { ReapedMember, Reaper, ReaperMemberHandle } from '@incumbent/core';
import { invalidOption } from '@incumbent/core/adapter';

import type { ParentMessage } from '../messages.ts';
import { machine, ownNamespaces } from '../system.ts';
import { MemberHandle, nextNumber } from './member-handle.ts';
import { ReaperProcess } from './reaper-process.ts';
import { startProcess } from '../spawn.ts';

/** A reaper that runs in a process of its own. */
export interface ProcessReaper extends Reaper {
  /**
   * Binds a process group, such as that of a child spawned with `detached: true`, to this process
   * and to the leases of the members that have this reaper. The reaper kills the group with
   * SIGKILL:
   *
   * - when this process dies, before it revokes any lease;
   * - at the moment until which the store certainly keeps a lease (`validFrom + ttl − margin`, the
   *   end of every drain), if the group is still bound then because this process is paused or late;
   * - when a lease is lost or revoked and no leadership under it drains any more.
   *
   * The group depends on the leases that are valid when it is bound: not on a lease whose moment
   * has passed, nor on one under which nobody leads any more, if there is another one.
   *
   * Returns a function that unbinds the group. Call it when the whole group is gone.
   *
   * @throws A `RangeError` (`INVALID_OPTION`) if no process group has the id `pgid`, or if it is
   *   this process's own; an `Error` on systems without process groups.
   */
  bindGroup(pgid: number): () => void;
}

/** The one reaper process that all members of this process share. */
let shared: ReaperProcess | undefined;

/**
 * Creates a reaper for `new Member(store, { reaper: reaper() })`. Does no I/O yet: the reaper
 * process starts with the first lease, and ends with the last member of this process.
 */
export function reaper(): ProcessReaper {
  return new ReaperHandle();
}

function sharedProcess(): ReaperProcess {
  shared ??= new ReaperProcess({ start: startProcess, parent: parentMessage() });
  return shared;
}

function parentMessage(): ParentMessage {
  const [started, space] = [machine.stat(process.pid)?.started, ownNamespaces()];
  return { type: 'parent', pid: process.pid, ...(started === undefined ? {} : { started }), ...(space === undefined ? {} : { space }) };
}

/** Why a store has no `revocation`. */
const ONLY_HERE =
  'because it was opened with something that only this process has, such as `pool` or `connect`, or is in memory, or in a bundle';

class ReaperHandle implements ProcessReaper {
  readonly #owner: number = nextNumber();

  join(member: ReapedMember): ReaperMemberHandle {
    const { revocation, name } = member.store;
    if (revocation === undefined)
      throw invalidOption('reaper', this, `left out: leases of this ${name} store cannot be ended by another process, ${ONLY_HERE}`);
    if (process.platform === 'linux' && ownNamespaces() === undefined)
      throw invalidOption('reaper', this, 'left out: /proc does not show this process, so its death could not be proven');
    return new MemberHandle(sharedProcess(), this.#owner, member, revocation);
  }

  bindGroup(pgid: number): () => void {
    if (process.platform === 'win32') throw new Error('this system has no process groups');
    if (!(Number.isInteger(pgid) && pgid > 1)) throw invalidOption('pgid', pgid, 'the id of a process group');
    // The id of a group that is gone may be used again, and the reaper would kill the other group.
    if (machine.signal(-pgid, 0) === 'absent') throw invalidOption('pgid', pgid, 'the id of a process group that exists');
    const stat = machine.stat(pgid);
    if (machine.stat(process.pid)?.group === pgid || pgid === process.pid || (stat !== undefined && stat.group !== pgid))
      throw invalidOption('pgid', pgid, 'the id of a process group that is not this process’s own: spawn with detached: true');
    const connection = sharedProcess();
    const [at, wallAt] = [machine.clock.monotonic(), machine.clock.wall()];
    connection.send({ type: 'group', owner: this.#owner, pid: pgid, at, wallAt, ...(stat === undefined ? {} : { started: stat.started }) });
    let isBound = true;
    return () => {
      if (isBound) connection.send({ type: 'release', pid: pgid });
      isBound = false;
    };
  }
}
