/** The `Member` of this package: that of `@incumbent/core`, which also accepts `reaper: true`. */

import { hostname } from 'node:os';

import { Member as CoreMember, type Logger, type MemberOptions as CoreMemberOptions, type Reaper, type Store } from '@incumbent/core';
import { reaper as makeReaper } from '@incumbent/reaper';
import { printEventsIfAsked, warningLogger } from './warnings.ts';

printEventsIfAsked();

/** The options of this package's {@link Member}: those of `@incumbent/core`, with more defaults. */
export interface MemberOptions extends Omit<CoreMemberOptions, 'reaper' | 'logger'> {
  /**
   * Gets the member's events: an object with debug, info, warn and error (pino). Without one, Node
   * warns once per process and election of a lost leadership (`INCUMBENT_LEADERSHIP_LOST`), of work
   * that does not stop (`INCUMBENT_STUCK`), of a member id that another process holds
   * (`INCUMBENT_DUPLICATE_MEMBER`), and of a store that may end leases early
   * (`INCUMBENT_STORE_ENDS_EARLY`). With `INCUMBENT_DEBUG=1` or `NODE_DEBUG=incumbent` in the
   * environment, every event is printed on standard error.
   */
  readonly logger?: Logger | undefined;
  /**
   * With `true`, a small helper process revokes the member's leases as soon as this process has
   * died, so the next leader starts within milliseconds instead of after the ttl. Default `false`.
   */
  readonly reaper?: boolean | Reaper;
}

/**
 * The `Member` of `@incumbent/core`, except that `reaper` may be a boolean, that it warns if it has
 * no logger, and that `host` is the machine's host name by default (pass `''` for none).
 */
export class Member extends CoreMember {
  constructor(store: Store, options: MemberOptions = {}) {
    super(store, coreOptions(options));
  }
}

function coreOptions(options: MemberOptions): CoreMemberOptions {
  // Core rejects options that are not an object.
  if (typeof options !== 'object' || options === null) return options;
  const { reaper, logger = warningLogger, host = hostname(), ...others } = options;
  const rest = { ...others, logger, host };
  if (reaper === undefined || reaper === false) return rest;
  return { ...rest, reaper: reaper === true ? makeReaper() : reaper };
}
