/** Finds the methods with `@LeaderCron` and `@Lead`, and runs them while this process leads. */

import { Inject, type InjectionToken, Module, type OnApplicationBootstrap, type OnModuleDestroy, Optional } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { cronSchedule, FleetCron, type FleetCronOptions } from '@incumbent/cron';
import { isIncumbentError, sleep, systemClock } from 'incumbent';
import { ElectionHost } from 'incumbent/host';
import { type CronMark, CronMethod, type LeadMark, LeadMethod } from './decorators.ts';
import { type IncumbentModuleOptions, OPTIONS } from './options.ts';
import { print } from './print.ts';

/** A method of a provider or a controller. */
interface Method {
  readonly name: string;
  readonly owner: object;
  /**
   * Whether `owner` is the only object of its class: NestJS made it when the application started.
   */
  readonly isStatic: boolean;
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
  #cron: FleetCron | undefined;

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
    checkOnce(this.#discovery);
    const reflector = new Reflector();
    const jobs: CronMethodFound[] = [];
    const works = new Map<string, string>();
    // Nothing begins before all methods are checked: a mistake prevents the start.
    const begins: (() => void)[] = [];
    for (const method of this.#methods()) {
      const mark = reflector.get(CronMethod, method.fn);
      if (mark !== undefined && !mark.isDisabled) {
        checkStatic(method, '@LeaderCron');
        jobs.push({ ...method, mark });
      }
      const lead = reflector.get(LeadMethod, method.fn);
      if (lead === undefined) continue;
      checkStatic(method, '@Lead');
      addWork(works, lead.election, `@Lead of ${nameOf(method)}`);
      this.#makeElection(method, lead);
      begins.push(() => this.#host.lead(lead.election, method.call));
    }
    if (jobs.length > 0) {
      const { election = 'cron', finishWithinMs: _, ...options } = this.#options.cron ?? {};
      addWork(works, election, 'the jobs with @LeaderCron');
      begins.push(this.#beginOf(jobs, election, options));
    }
    for (const begin of begins) begin();
  }

  /**
   * Ends the work before the HTTP server stops, and before any `beforeApplicationShutdown`. NestJS
   * calls the hooks of the root module and of the modules that it imports first: `onModuleDestroy`
   * of their providers ends while the work still runs.
   */
  async onModuleDestroy(): Promise<void> {
    const { finishWithinMs = 0, clock = systemClock } = this.#options.cron ?? {};
    if (this.#cron !== undefined && finishWithinMs > 0) {
      const over = new AbortController();
      await Promise.race([this.#cron.finishRuns(), sleep(clock, finishWithinMs, over.signal)]);
      over.abort();
    }
    await this.#host.close();
  }

  /** @throws As `host.election` does. An error about the options names the method. */
  #makeElection(method: Method, { election, options }: LeadMark): void {
    try {
      this.#host.election(election, options);
    } catch (error) {
      if (options === undefined || !isIncumbentError(error, 'INVALID_OPTION')) throw error;
      const text = `@Lead of ${nameOf(method)} has options that the election "${election}" refuses: ${error.message}`;
      throw Object.assign(new Error(text, { cause: error }), { code: error.code, details: error.details });
    }
  }

  /** Schedules the jobs. The function that this returns begins to run them. */
  #beginOf(jobs: readonly CronMethodFound[], election: string, options: FleetCronOptions): () => void {
    const cron = new FleetCron(this.#host.election(election), { ...options, onReport: options.onReport ?? print });
    this.#cron = cron;
    for (const { mark, call } of jobs) cron.add(mark.name, cronSchedule(this.#timeOf(mark.name)), call, mark.job);
    return () => this.#host.run(election, () => cron.run());
  }

  #timeOf(name: string): Parameters<typeof cronSchedule>[0] {
    const registry = this.#registry;
    if (registry?.doesExist('cron', name) === true) return registry.getCronJob(name).cronTime;
    throw new Error(`@nestjs/schedule does not know the job "${name}" of @LeaderCron: import ScheduleModule.forRoot()`);
  }

  *#methods(): Generator<Method> {
    // One object may have several tokens: by `useExisting`, or by a factory that returns it.
    const seen = new Set<unknown>();
    for (const wrapper of [...this.#discovery.getProviders(), ...this.#discovery.getControllers()]) {
      const instance: unknown = wrapper.instance;
      if (typeof instance !== 'object' || instance === null || wrapper.isAlias || seen.has(instance)) continue;
      seen.add(instance);
      const isStatic = wrapper.isDependencyTreeStatic() && !wrapper.isTransient;
      const prototype: unknown = Object.getPrototypeOf(instance);
      if (typeof prototype !== 'object' || prototype === null) continue;
      for (const name of this.#scanner.getAllMethodNames(prototype)) {
        const fn: unknown = Reflect.get(prototype, name);
        if (!isMethod(fn)) continue;
        yield { name, owner: instance, isStatic, fn, call: (argument) => fn.call(instance, argument) };
      }
    }
  }
}

/** Throws if there are several hosts: this class would run and close only one of them. */
function checkOnce(discovery: DiscoveryService): void {
  const { length } = discovery.getProviders().filter(({ token }) => token === OPTIONS);
  if (length > 1) throw new Error(`IncumbentModule is imported ${length} times, with options each: import it once. It serves all modules`);
}

/** Throws if the election has work already: a member takes part in an election once. */
function addWork(works: Map<string, string>, election: string, work: string): void {
  const other = works.get(election);
  if (other !== undefined)
    throw new Error(`the election "${election}" has two works, ${other} and ${work}: give each an election of its own`);
  works.set(election, work);
}

/**
 * Throws for a provider that is transient or scoped to a request. NestJS makes its objects later,
 * and until then shows an object whose constructor has not run.
 */
function checkStatic(method: Method, decorator: string): void {
  if (method.isStatic) return;
  throw new Error(
    `${decorator} of ${nameOf(method)} is in a class that is transient, scoped to a request, ` +
      'or depends on a provider scoped to a request: move the method to a provider with the default scope',
  );
}

function nameOf({ name, owner }: Method): string {
  return `${owner.constructor.name}.${name}`;
}

function isMethod(value: unknown): value is (argument: unknown) => unknown {
  return typeof value === 'function';
}

const dependencies: readonly InjectionToken[] = [ElectionHost, OPTIONS, DiscoveryService, MetadataScanner, SchedulerRegistry];
for (const [index, token] of dependencies.entries()) Inject(token)(LeaderWork, undefined, index);
Optional()(LeaderWork, undefined, dependencies.indexOf(SchedulerRegistry));
Module({ imports: [DiscoveryModule] })(LeaderWork);
