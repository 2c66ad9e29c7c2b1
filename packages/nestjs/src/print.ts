/** What the module prints with the logger of NestJS. */

import { Logger } from '@nestjs/common';
import type { CronReport } from '@incumbent/cron';
import type { HostFailure } from 'incumbent/host';

const logger = new Logger('Incumbent');

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
    case 'failed':
      return logger.error(`${job}: the run of ${report.slot.toISOString()} failed`, stackOf(report.error));
    default:
      return report satisfies never;
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? String(error)) : String(error);
}
