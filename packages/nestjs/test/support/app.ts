/** Applications of NestJS, each a process of a simulated cluster. */

import { type INestApplicationContext, Module, type ModuleMetadata, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TestCluster } from '@incumbent/memory';
import { afterEach, beforeEach } from 'vitest';
import { type CronSettings, IncumbentModule, type IncumbentModuleOptions } from '../../src/index.ts';

export interface TestApp extends ModuleMetadata {
  readonly cron?: CronSettings;
}

/** Gives each test of a file a cluster of its own. Returns the one of the present test. */
export function clusterOfEachTest(): () => TestCluster {
  let cluster: TestCluster;
  beforeEach(() => {
    cluster = new TestCluster();
  });
  afterEach(async () => cluster.close());
  return () => cluster;
}

/** Options of the module for a process of the cluster. */
export function optionsFor(cluster: TestCluster, id: string, cron: CronSettings = {}): IncumbentModuleOptions {
  const { store, options } = cluster.process(id);
  const { clock } = options;
  return { store, member: { ttlMs: 5_000, ...options }, cron: { ...cron, ...(clock === undefined ? {} : { clock }) } };
}

/** Starts an application with the module and `ScheduleModule`. */
export async function startApp(
  cluster: TestCluster,
  id: string,
  { cron, imports = [], ...rest }: TestApp,
): Promise<INestApplicationContext> {
  return contextOf({ imports: [IncumbentModule.forRoot(optionsFor(cluster, id, cron)), ScheduleModule.forRoot(), ...imports], ...rest });
}

/** Starts an application with these modules and providers. */
export async function contextOf(metadata: ModuleMetadata): Promise<INestApplicationContext> {
  class App {
    readonly name = 'app';
  }
  Module(metadata)(App);
  return NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
}

/** Applies a decorator to a method, as it does above the method. */
export function decorate<T extends object>(target: Type<T>, name: keyof T & string, decorator: MethodDecorator): void {
  const descriptor = Object.getOwnPropertyDescriptor(target.prototype, name);
  if (descriptor === undefined) throw new TypeError(`no method ${name}`);
  decorator(target.prototype, name, descriptor);
}
