/** Finds the methods with `@LeaderCron` and `@Lead`, and runs them while this process leads. */

import { Inject, type InjectionToken, Module, type OnApplicationBootstrap, type OnModuleDestroy, Optional } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { cronSchedule, FleetCron } from '@incumbent/cron';
import { ElectionHost } from 'incumbent/host';
import { type CronMark, CronMethod, LeadMethod } from './decorators.ts';
import { type IncumbentModuleOptions, OPTIONS } from './options.ts';
import { print } from './print.ts';

/** A method of a provider or a controller. */
interface Method {
  readonly fn: (argument: unknown) => unknown;
  readonly call: (argument: unknown) => unknown;
}

interface CronMethodFound extends Method {
  readonly mark: CronMark;
}

/**
 * A module that is not global: the hooks of global modules, such as `ScheduleModule`, come first.
 */
export class LeaderWork implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #host: ElectionHost;
  readonly #options: IncumbentModuleOptions;
  readonly #discovery: DiscoveryService;
  readonly #scanner: MetadataScanner;
  readonly #registry: SchedulerRegistry | undefined;

  constructor(
    host: ElectionHost,
    options: IncumbentModuleOptions,
    discovery: DiscoveryService,
    scanner: MetadataScanner,
    registry: SchedulerRegistry | undefined,
  ) {
    this.#host = host;
    this.#options = options;
    this.#discovery = discovery;
    this.#scanner = scanner;
    this.#registry = registry;
  }

  /** `@nestjs/schedule` has made its jobs in the same hook. */
  onApplicationBootstrap(): void {
    const reflector = new Reflector();
    const jobs: CronMethodFound[] = [];
    for (const method of this.#methods()) {
      const mark = reflector.get(CronMethod, method.fn);
      if (mark !== undefined && !mark.isDisabled) jobs.push({ ...method, mark });
      const lead = reflector.get(LeadMethod, method.fn);
      if (lead === undefined) continue;
      this.#host.election(lead.election, lead.options);
      this.#host.lead(lead.election, method.call);
    }
    if (jobs.length > 0) this.#run(jobs);
  }

  /** Ends the work before the HTTP server and most other providers stop. */
  async onModuleDestroy(): Promise<void> {
    await this.#host.close();
  }

  #run(jobs: readonly CronMethodFound[]): void {
    const { election = 'cron', ...options } = this.#options.cron ?? {};
    const cron = new FleetCron(this.#host.election(election), { onReport: print, ...options });
    for (const { mark, call } of jobs) cron.add(mark.name, cronSchedule(this.#timeOf(mark.name)), call, mark.job);
    this.#host.run(election, () => cron.run());
  }

  #timeOf(name: string): Parameters<typeof cronSchedule>[0] {
    const registry = this.#registry;
    if (registry?.doesExist('cron', name) === true) return registry.getCronJob(name).cronTime;
    throw new Error(
      `@nestjs/schedule does not know the job "${name}" of @LeaderCron: import ScheduleModule.forRoot(), ` +
        'and use the decorator only in providers that are not scoped to a request',
    );
  }

  *#methods(): Generator<Method> {
    for (const { instance } of [...this.#discovery.getProviders(), ...this.#discovery.getControllers()]) {
      if (typeof instance !== 'object' || instance === null) continue;
      const prototype: unknown = Object.getPrototypeOf(instance);
      if (typeof prototype !== 'object' || prototype === null) continue;
      for (const name of this.#scanner.getAllMethodNames(prototype)) {
        const fn: unknown = Reflect.get(prototype, name);
        if (isMethod(fn)) yield { fn, call: (argument) => fn.call(instance, argument) };
      }
    }
  }
}

function isMethod(value: unknown): value is (argument: unknown) => unknown {
  return typeof value === 'function';
}

const dependencies: readonly InjectionToken[] = [ElectionHost, OPTIONS, DiscoveryService, MetadataScanner, SchedulerRegistry];
for (const [index, token] of dependencies.entries()) Inject(token)(LeaderWork, undefined, index);
Optional()(LeaderWork, undefined, dependencies.indexOf(SchedulerRegistry));
Module({ imports: [DiscoveryModule] })(LeaderWork);
