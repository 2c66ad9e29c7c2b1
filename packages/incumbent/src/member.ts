/** The `Member` of this package: that of `@incumbent/core`, which also accepts `reaper: true`. */

import { Member as CoreMember, type MemberOptions as CoreMemberOptions, type Reaper, type Store } from '@incumbent/core';
import { reaper as makeReaper } from '@incumbent/reaper';

export interface MemberOptions extends Omit<CoreMemberOptions, 'reaper'> {
  /**
   * With `true`, a small helper process revokes the member's leases as soon as this process has
   * died, so the next leader starts within milliseconds instead of after the ttl. Default `false`.
   */
  readonly reaper?: boolean | Reaper;
}

/** The `Member` of `@incumbent/core`, except that `reaper` may be a boolean. */
export class Member extends CoreMember {
  constructor(store: Store, options: MemberOptions = {}) {
    super(store, coreOptions(options));
  }
}

function coreOptions(options: MemberOptions): CoreMemberOptions {
  // Core rejects options that are not an object.
  if (typeof options !== 'object' || options === null) return options;
  const { reaper, ...rest } = options;
  if (reaper === undefined || reaper === false) return rest;
  return { ...rest, reaper: reaper === true ? makeReaper() : reaper };
}
