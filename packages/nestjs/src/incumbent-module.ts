/** The module of NestJS. */

import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { checkIntegrationOptions, ElectionHost } from 'incumbent/host';
import { IncumbentHealthIndicator } from './health.ts';
import { LeaderWork } from './leader-work.ts';
import { type IncumbentModuleAsyncOptions, type IncumbentModuleOptions, OPTIONS } from './options.ts';
import { electionLogger, printFailure } from './print.ts';

/**
 * Opens the store when the application starts, and runs all methods with `@LeaderCron` and `@Lead`.
 * When the application closes, hands over and drains the work, then closes the store: call
 * `app.enableShutdownHooks()`, so that SIGTERM closes the application. Provides `ElectionHost` and
 * `IncumbentHealthIndicator` to all modules. An application imports it once.
 */
// oxlint-disable-next-line typescript/no-extraneous-class -- NestJS knows modules by their classes
export class IncumbentModule {
  /** @throws When the application starts, as `ElectionHost.open` does. */
  static forRoot(options: IncumbentModuleOptions): DynamicModule {
    return moduleWith({ provide: OPTIONS, useValue: options });
  }

  /** As `forRoot`, with options from a factory. */
  static forRootAsync({ imports = [], inject = [], useFactory }: IncumbentModuleAsyncOptions): DynamicModule {
    return moduleWith({ provide: OPTIONS, useFactory, inject }, imports);
  }
}

Module({})(IncumbentModule);

/** A day. */
const MAX_FINISH_MS = 86_400_000;

function moduleWith(options: Provider<IncumbentModuleOptions>, imports: NonNullable<DynamicModule['imports']> = []): DynamicModule {
  const host: Provider<ElectionHost> = { provide: ElectionHost, useFactory: open, inject: [OPTIONS] };
  return {
    module: IncumbentModule,
    global: true,
    imports: [...imports, LeaderWork],
    providers: [options, host, IncumbentHealthIndicator],
    exports: [OPTIONS, ElectionHost, IncumbentHealthIndicator],
  };
}

async function open(given: IncumbentModuleOptions): Promise<ElectionHost> {
  checkIntegrationOptions('IncumbentModule', given, ['logElections', 'cron']);
  const { cron: { finishWithinMs = 0 } = {}, logElections = true, ...options } = given;
  if (typeof logElections !== 'boolean') throw invalid(new TypeError(`logElections is a ${typeof logElections}: it must be true or false`));
  if (typeof finishWithinMs !== 'number' || !(finishWithinMs >= 0 && finishWithinMs <= MAX_FINISH_MS))
    throw invalid(new RangeError(`cron.finishWithinMs is ${String(finishWithinMs)}: it must be a number from 0 to ${MAX_FINISH_MS}`));
  const member = logElections ? { ...options.member, logger: options.member?.logger ?? electionLogger } : options.member;
  return ElectionHost.open({ ...options, ...(member === undefined ? {} : { member }), onFailure: printFailure });
}

function invalid(error: Error): Error {
  return Object.assign(error, { code: 'INVALID_OPTION' });
}
