/** The decorators of methods, and the guard of controllers. */

import { applyDecorators, type CanActivate, Inject, mixin, ServiceUnavailableException, type Type } from '@nestjs/common';
import { type ReflectableDecorator, Reflector } from '@nestjs/core';
import { Cron, type CronOptions } from '@nestjs/schedule';
import type { JobOptions } from '@incumbent/cron';
import type { ElectionOptions } from 'incumbent';
import { ElectionHost } from 'incumbent/host';

/** The options of {@link LeaderCron}: those of `@Cron` and those of a job of `@incumbent/cron`. */
export type LeaderCronOptions = CronOptions & JobOptions;

/** What `@LeaderCron` notes of a method. */
export interface CronMark {
  readonly name: string;
  readonly isDisabled: boolean;
  readonly job: JobOptions;
}

/** What `@Lead` notes of a method. */
export interface LeadMark {
  readonly election: string;
  readonly options: ElectionOptions | undefined;
}

export const CronMethod: ReflectableDecorator<CronMark> = Reflector.createDecorator<CronMark>();
export const LeadMethod: ReflectableDecorator<LeadMark> = Reflector.createDecorator<LeadMark>();

/**
 * In place of `@Cron` of `@nestjs/schedule`: the method runs once per time slot in all processes
 * together, in the one that leads. It gets a `CronRun`, with the slot, the term and a signal that
 * aborts when the leadership ends. `name` must be the same in all processes; default
 * `Class.method`. An error of the method is reported as `failed`.
 */
export function LeaderCron(expression: string, options: LeaderCronOptions = {}): MethodDecorator {
  return (target, method, descriptor) => {
    const { misfire, maxLate, graceMs, disabled = false, name = `${target.constructor.name}.${String(method)}`, ...schedule } = options;
    const job = {
      ...(misfire === undefined ? {} : { misfire }),
      ...(maxLate === undefined ? {} : { maxLate }),
      ...(graceMs === undefined ? {} : { graceMs }),
    };
    // The timer of @nestjs/schedule must not run the method too: it would do so in every process.
    const timer = Cron(expression, { ...schedule, name, disabled: true });
    applyDecorators(CronMethod({ name, isDisabled: disabled, job }), timer)(target, method, descriptor);
  };
}

/**
 * The method runs while this process leads the election, and gets the `Leadership`: as the work of
 * `election.lead`, once per term. It must stop when `leadership.signal` aborts. Work that returns
 * resigns, and the process does not campaign again. The options are those of `member.election`.
 * Leave them out if a provider calls `host.election` for this election in its constructor or in
 * `onModuleInit`: such a call comes first, so it has the options.
 */
export function Lead(election: string, options?: ElectionOptions): MethodDecorator {
  return applyDecorators(LeadMethod({ election, options }));
}

/**
 * A guard for controllers and their methods, `@UseGuards(LeaderGuard('mailer'))`: answers 503
 * unless this process leads the election. The answer holds for the moment of the check.
 */
export function LeaderGuard(election: string): Type<CanActivate> {
  class Guard implements CanActivate {
    readonly #host: ElectionHost;

    constructor(host: ElectionHost) {
      this.#host = host;
    }

    canActivate(): boolean {
      if (this.#host.isLeader(election)) return true;
      throw new ServiceUnavailableException(`this process does not lead "${election}"`);
    }
  }
  Inject(ElectionHost)(Guard, undefined, 0);
  return mixin(Guard);
}
