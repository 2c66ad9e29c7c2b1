/** Core's member, with a word for what it would have to be given: what people install brings its reaper along. */

import { Member as CoreMember, type MemberOptions as CoreMemberOptions, type Reaper, type Store } from '@incumbent/core';
import { reaper as makeReaper } from '@incumbent/reaper';

export interface MemberOptions extends Omit<CoreMemberOptions, 'reaper'> {
  /** True: should this process die, this member's leases end at once, in place of at the end of their ttl. A small process of its own sees to that. Default false. */
  readonly reaper?: boolean | Reaper;
}

/** As `Member` of `@incumbent/core`, which takes no `true` for its reaper. */
export class Member extends CoreMember {
  constructor(store: Store, options: MemberOptions = {}) {
    super(store, coreOptions(options));
  }
}

function coreOptions(options: MemberOptions): CoreMemberOptions {
  // What is no object is core's to refuse.
  if (typeof options !== 'object' || options === null) return options;
  const { reaper, ...rest } = options;
  if (reaper === undefined || reaper === false) return rest;
  return { ...rest, reaper: reaper === true ? makeReaper() : reaper };
}
