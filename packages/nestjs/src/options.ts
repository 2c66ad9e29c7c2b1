/** The options of the module. */

import type { FactoryProvider, ModuleMetadata } from '@nestjs/common';
import type { FleetCronOptions } from '@incumbent/cron';
import type { HostOptions } from 'incumbent/host';

/** The options of the jobs with `@LeaderCron`: the defaults of all jobs, and `onReport`. */
export interface CronSettings extends FleetCronOptions {
  /**
   * The name of the election whose leader runs the jobs. It is a part of the keys of the jobs' last
   * slots. Default `'cron'`.
   */
  readonly election?: string | undefined;
  /**
   * How long a process that closes goes on leading until its runs under way have ended, in ms. It
   * claims no slot meanwhile. Then the runs are interrupted. From 0 to 86,400,000. Default 0.
   */
  readonly finishWithinMs?: number | undefined;
}

/** The options of `IncumbentModule.forRoot`. */
export interface IncumbentModuleOptions extends Omit<HostOptions, 'onFailure'> {
  /**
   * Whether a `Logger` of NestJS prints that this process is elected, that its leadership has ended
   * and why, and what else the member logs at the levels info, warn and error. With `false`, the
   * member warns as one without a logger. Has no effect beside `member.logger`. Default true.
   */
  readonly logElections?: boolean | undefined;
  /** The options of the jobs. By default a `Logger` of NestJS prints their reports. */
  readonly cron?: CronSettings | undefined;
}

/** The options of `IncumbentModule.forRootAsync`: a factory, and what it is called with. */
export interface IncumbentModuleAsyncOptions
  extends Pick<ModuleMetadata, 'imports'>, Pick<FactoryProvider<IncumbentModuleOptions>, 'useFactory' | 'inject'> {}

/** The provider of the options. */
export const OPTIONS: unique symbol = Symbol('the options of IncumbentModule');
