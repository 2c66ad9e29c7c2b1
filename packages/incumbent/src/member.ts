/**
 * The `Member` of this package: that of `@incumbent/core`, which also accepts `reaper: true` and
 * `renewIn: 'worker'`.
 */

import { hostname } from 'node:os';

import {
  Member as CoreMember,
  type Logger,
  type MemberOptions as CoreMemberOptions,
  type Reaper,
  type Renewer,
  type Store,
} from '@incumbent/core';
import { invalidOption } from '@incumbent/core/adapter';
import { reaper as makeReaper } from '@incumbent/reaper';
import { printEventsIfAsked, warningLogger } from './warnings.ts';
import { workerRenewer } from './worker-renewer.ts';

printEventsIfAsked();

/** The options of this package's {@link Member}: those of `@incumbent/core`, with more defaults. */
export interface MemberOptions extends Omit<CoreMemberOptions, 'reaper' | 'renewIn' | 'logger'> {
  /**
   * Gets the member's events: an object with debug, info, warn and error (pino). Without one, Node
   * warns once per process and election of what needs somebody's attention: a lost leadership, work
   * that fails or does not stop, a callback that throws, a member id that another process holds, a
   * group that the member cannot join again, and a store that may end leases early. The codes begin
   * with `INCUMBENT_`. With `INCUMBENT_DEBUG=1` or `NODE_DEBUG=incumbent` in the environment, every
   * event is printed on standard error.
   */
  readonly logger?: Logger | undefined;
  /**
   * With `true`, a small helper process revokes the member's leases as soon as this process has
   * died, so the next leader starts within milliseconds instead of after the ttl. Default `false`.
   */
  readonly reaper?: boolean | Reaper | undefined;
  /**
   * Where the member's leases are renewed. With `'worker'`, a worker thread with a connection of
   * its own renews them while the event loop of this thread is blocked, so that long synchronous
   * work does not end a leadership. It needs a store whose leases another connection can renew:
   * etcd, PostgreSQL, Redis or SQLite, opened by a URL or by options without functions. Default
   * `'eventLoop'`.
   */
  readonly renewIn?: 'eventLoop' | 'worker' | Renewer | undefined;
}

/** The names of the options. */
export const memberOptionNames: readonly string[] = Object.keys({
  memberId: true,
  onDuplicate: true,
  host: true,
  rebalanceEveryMs: true,
  reaper: true,
  renewIn: true,
  maxBlockedMs: true,
  logger: true,
  clock: true,
  random: true,
  ttlMs: true,
  renewEveryMs: true,
  retryEveryMs: true,
  callTimeoutMs: true,
  drainMs: true,
  clockErrorRatio: true,
  successorClaimTimeoutMs: true,
} satisfies Record<keyof MemberOptions, true>);

/**
 * The `Member` of `@incumbent/core`, except that `reaper` may be a boolean and `renewIn` a word,
 * that it warns if it has no logger, and that `host` is the machine's host name by default (pass
 * `''` for none).
 */
export class Member extends CoreMember {
  constructor(store: Store, options: MemberOptions = {}) {
    super(store, coreOptions(options));
  }
}

function coreOptions(options: MemberOptions): CoreMemberOptions {
  // Core rejects what is no object, and a promise, which has no options to spread.
  if (!isObject(options)) return options;
  const { reaper, renewIn, logger = warningLogger, host = hostname(), ...others } = options;
  return { ...others, logger, host, ...reaperOption(reaper), ...renewInOption(renewIn) };
}

function isObject(options: unknown): options is object {
  return typeof options === 'object' && options !== null && !(options instanceof Promise);
}

function reaperOption(reaper: MemberOptions['reaper']): { readonly reaper?: Reaper } {
  if (reaper === undefined || reaper === false) return {};
  return { reaper: reaper === true ? makeReaper() : reaper };
}

function renewInOption(renewIn: MemberOptions['renewIn']): { readonly renewIn?: Renewer } {
  if (renewIn === undefined || renewIn === 'eventLoop') return {};
  if (renewIn === 'worker') return { renewIn: workerRenewer() };
  if (typeof renewIn === 'object') return { renewIn };
  throw invalidOption('renewIn', renewIn, "'eventLoop' or 'worker'");
}
