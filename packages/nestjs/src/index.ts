/** Leader election for NestJS: jobs and work that run in one process of a fleet. */

export { Lead, LeaderCron, LeaderGuard } from './decorators.ts';
export type { LeaderCronOptions } from './decorators.ts';
export { IncumbentHealthIndicator } from './health.ts';
export type { HealthResult } from './health.ts';
export { IncumbentModule } from './incumbent-module.ts';
export type { CronSettings, IncumbentModuleAsyncOptions, IncumbentModuleOptions } from './options.ts';
export { ElectionHost } from 'incumbent/host';
export type { CronReport, CronRun } from '@incumbent/cron';
