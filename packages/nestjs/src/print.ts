/** What the module prints with the logger of NestJS. */

import { Logger } from '@nestjs/common';
import type { CronReport } from '@incumbent/cron';
import type { Logger as MemberLogger } from 'incumbent';
import type { HostFailure } from 'incumbent/host';

const logger = new Logger('Incumbent');

/**
 * The logger of the member. The `Logger` of NestJS has no `info`, and prints objects on lines of
 * their own. Leaves out the level debug, which NestJS prints by default.
 */
export const electionLogger: MemberLogger = {
  debug: () => {},
  info: (fields, message) => logger.log(lineOf(fields, message)),
  warn: (fields, message) => logger.warn(lineOf(fields, message)),
  error: (fields, message) => logger.error(lineOf(fields, message)),
};

function lineOf(fields: object, message: string): string {
  const { err, ...facts }: Readonly<Record<string, unknown>> = { ...fields };
  const { event, election, term, why } = facts;
  if (event === 'elected') return `elected: this process leads "${String(election)}" in term ${String(term)}`;
  if (event === 'ended') return `leadership of "${String(election)}" in term ${String(term)} ended ${String(why)}`;
  const error = err instanceof Error ? `: ${err.message}` : '';
  return `${message}${error} ${JSON.stringify(facts)}`;
}

export function printFailure({ election, error }: HostFailure): void {
  logger.error(`this process takes no further part in the election "${election}"`, stackOf(error));
}

export function print(report: CronReport): void {
  const { type, job } = report;
  switch (type) {
    case 'missed':
      return logger.warn(`${job}: the slots from ${report.from.toISOString()} to ${report.to.toISOString()} were missed`);
    case 'interrupted':
      return logger.warn(`${job}: the run of ${report.slot.toISOString()} was interrupted, and will not run again`);
    case 'aborted':
      return logger.warn(`${job}: the run of ${report.slot.toISOString()} was told to stop: ${messageOf(report.reason)}`);
    case 'failed':
      return logger.error(`${job}: the run of ${report.slot.toISOString()} failed`, stackOf(report.error));
    case 'ahead':
      return logger.error(
        `${job}: the last slot, ${report.slot.toISOString()}, is ${Math.round(report.byMs / 1_000)} s ahead of the clock of this ` +
          'process: the job does not run before that time',
      );
    default:
      return report satisfies never;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? String(error)) : String(error);
}
