/** A reaper, as a member is given one. */

import type { ReapedMember, Reaper, ReaperSeat } from '@incumbent/core';
import { invalidOption } from '@incumbent/core/adapter';

import { Helper } from './helper.ts';
import type { Told } from './messages.ts';
import { nextNumber, Seat } from './seat.ts';
import { startProcess } from './spawn.ts';
import { machine, ownSpace } from './system.ts';

export interface ProcessReaper extends Reaper {
  /**
   * From now on a process group, as of a child that was spawned `detached`, lives no longer than this process, nor than a lease of the members that were given
   * this reaper: it is killed when this process dies, before any lease is revoked; and, should this process be paused or late, at the moment until which the store
   * certainly keeps the lease (`validFrom + ttl − margin`, the end of every drain), or as soon as that is gone or revoked and nothing that led by it drains any more.
   * It does not live by a lease for which that moment has passed already, or by which nobody leads any more, where another stands. Returns what takes that back: to be called when all of the group is gone.
   *
   * Throws a `RangeError` (`INVALID_OPTION`) for what is no group, or this process's own; an `Error` where the system has no groups.
   */
  bindGroup(pgid: number): () => void;
}

/** All of this process share one. */
let shared: Helper | undefined;

/**
 * A reaper for the members that it is given to: `new Member(store, { reaper: reaper() })`. Starts a small process with the first lease, which ends with the last of
 * its members. No I/O yet.
 */
export function reaper(): ProcessReaper {
  return new Keeper(helper);
}

function helper(): Helper {
  shared ??= new Helper({ start: startProcess, parent: introduction() });
  return shared;
}

function introduction(): Told {
  const [started, space] = [machine.stat(process.pid)?.started, ownSpace()];
  return { type: 'parent', pid: process.pid, ...(started === undefined ? {} : { started }), ...(space === undefined ? {} : { space }) };
}

class Keeper implements ProcessReaper {
  readonly #helper: () => Helper;
  readonly #owner: number = nextNumber();

  constructor(helperOf: () => Helper) {
    this.#helper = helperOf;
  }

  join(member: ReapedMember): ReaperSeat {
    const { revocation, name } = member.store;
    if (revocation === undefined)
      throw invalidOption('reaper', this, `left out: leases of this ${name} store cannot be ended by another process`);
    if (process.platform === 'linux' && ownSpace() === undefined)
      throw invalidOption(
        'reaper',
        this,
        'left out: what is mounted at /proc does not show this process, so that its death could not be proven',
      );
    return new Seat(this.#helper(), this.#owner, member, revocation);
  }

  bindGroup(pgid: number): () => void {
    if (process.platform === 'win32') throw new Error('this system has no process groups');
    if (!(Number.isInteger(pgid) && pgid > 1)) throw invalidOption('pgid', pgid, 'the id of a process group');
    const stat = machine.stat(pgid);
    if (machine.stat(process.pid)?.group === pgid || pgid === process.pid || (stat !== undefined && stat.group !== pgid))
      throw invalidOption('pgid', pgid, 'the id of a process group that is not this process’s own: spawn with detached: true');
    const told = this.#helper();
    const [at, wallAt] = [machine.clock.monotonic(), machine.clock.wall()];
    told.tell({ type: 'group', owner: this.#owner, pid: pgid, at, wallAt, ...(stat === undefined ? {} : { started: stat.started }) });
    let isBound = true;
    return () => {
      if (isBound) told.tell({ type: 'release', pid: pgid });
      isBound = false;
    };
  }
}
