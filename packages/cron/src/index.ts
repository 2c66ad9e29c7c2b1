/** Scheduled jobs that run once per slot in a fleet of processes. */

export { addCronJobs, cronSchedule } from './cron-jobs.ts';
export type { CronJobLike, CronTimeLike, ZonedTime } from './cron-jobs.ts';
export { FleetCron } from './fleet-cron.ts';
export type { CronElection, FleetCronOptions, JobOptions } from './fleet-cron.ts';
export { NodeCronCoordinator } from './node-cron.ts';
export type { NodeCronOptions } from './node-cron.ts';
export type { CronReport } from './reports.ts';
export type { Schedule } from './schedule.ts';
export type { CronRun, Misfire } from './term.ts';
