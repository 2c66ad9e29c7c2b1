/** Reports of a fleet's cron about runs that did not go as scheduled. */

import { withJson } from '@incumbent/core/adapter';

/**
 * A slot that did not run, or whose run did not end well, or a job that waits for a time far ahead.
 * If a process dies before it reports, the next leader does: a run that failed is then reported as
 * `interrupted`. A process that dies right after a report may make the next leader repeat it.
 * `JSON.stringify` writes the term as text, and the error as its name, code, message and cause.
 */
export type CronReport =
  /** No process claimed these slots in time, and they will not run: all from `from` to `to`. */
  | { readonly type: 'missed'; readonly job: string; readonly from: Date; readonly to: Date }
  /**
   * The slot was claimed in this term, which ended before the run was recorded as finished: the
   * process died, was paused or shut down in the middle, or could not record the end. It will not
   * run again.
   */
  | { readonly type: 'interrupted'; readonly job: string; readonly slot: Date; readonly term: bigint }
  /**
   * The signal of the run has aborted with `reason` before the run ended: the leadership of this
   * process has ended, or an error of a schedule or of the store ends all jobs of this process, and
   * `reason` is that error. The end of the run will not be recorded. The next leader reports the
   * run as `interrupted`.
   */
  | { readonly type: 'aborted'; readonly job: string; readonly slot: Date; readonly term: bigint; readonly reason: unknown }
  /**
   * The run of the slot threw, or the record of the job cannot be read or written because its key
   * holds something else (`FOREIGN_DATA`). The slot will not run again.
   */
  | { readonly type: 'failed'; readonly job: string; readonly slot: Date; readonly term: bigint; readonly error: unknown }
  /**
   * The last recorded slot of the job is more than a minute ahead of the clock of the leader, by
   * `byMs`: a former leader's clock was ahead, or this one is behind. The job does not run before
   * that time. Each leader reports it once.
   */
  | { readonly type: 'ahead'; readonly job: string; readonly slot: Date; readonly byMs: number };

/** Calls the user's `onReport`, whose errors must not end a leadership. */
export function reporter(onReport: (report: CronReport) => unknown): (report: CronReport) => void {
  const fail = (error: unknown): void =>
    process.emitWarning(`onReport failed: ${String(error)}`, { type: 'CronWarning', code: 'INCUMBENT_CRON_REPORT' });
  return (report) => {
    try {
      Promise.resolve(onReport(withJson({ ...report }))).catch(fail);
    } catch (error) {
      fail(error);
    }
  };
}

const codes: Readonly<Record<CronReport['type'], string>> = {
  missed: 'INCUMBENT_CRON_MISSED',
  interrupted: 'INCUMBENT_CRON_INTERRUPTED',
  aborted: 'INCUMBENT_CRON_ABORTED',
  failed: 'INCUMBENT_CRON_FAILED',
  ahead: 'INCUMBENT_CRON_AHEAD',
};

/** Writes the report as a warning of Node. */
export function warn(report: CronReport): void {
  process.emitWarning(textOf(report), { type: 'CronWarning', code: codes[report.type] });
}

function textOf(report: CronReport): string {
  switch (report.type) {
    case 'missed':
      return `${report.job}: the slots from ${report.from.toISOString()} to ${report.to.toISOString()} were missed, and will not run`;
    case 'interrupted':
      return `${report.job}: the run of ${report.slot.toISOString()} in term ${report.term} was not recorded as finished, and will not run again`;
    case 'aborted':
      return `${report.job}: the run of ${report.slot.toISOString()} in term ${report.term} was told to stop: ${messageOf(report.reason)}`;
    case 'failed':
      return `${report.job}: the run of ${report.slot.toISOString()} in term ${report.term} failed: ${describe(report.error)}`;
    case 'ahead':
      return (
        `${report.job}: the last slot, ${report.slot.toISOString()}, is ${Math.round(report.byMs / 1_000)} s ahead of the clock of this ` +
        'process: the job does not run before that time'
      );
    default:
      return report satisfies never;
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? String(error)) : String(error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
