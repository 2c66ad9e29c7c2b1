/** For who has bound a group: whether it is gone. */

import { isGroupGone } from './death.ts';
import { machine } from './system.ts';

/** Whether nothing of a process group runs any more. What has ended and merely waits for its parent to ask counts as gone. */
export function groupIsGone(pgid: number): boolean {
  return isGroupGone(machine, { pid: pgid });
}
