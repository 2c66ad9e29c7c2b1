/** What the warnings of the packages mean. */

/** The warnings of `process.emitWarning`, by their codes. */
export const warnings = {
  INCUMBENT_STUCK: 'The event [`stuck`](#stuck), in a process without a logger.',
  INCUMBENT_DUPLICATE_MEMBER:
    'The event [`duplicateMember`](#duplicatemember), in a process without a logger.',
  INCUMBENT_LEADERSHIP_LOST:
    'The event [`ended`](#ended) with `lost: true`, in a process without a logger.',
  INCUMBENT_WORK_FAILED:
    'The event [`workFailed`](#workfailed), in a process without a logger. Or a service of ' +
    '`@incumbent/fastify` without a logger takes no further part in an election.',
  INCUMBENT_CALLBACK_FAILED:
    'The event [`subscriberFailed`](#subscriberfailed), in a process without a logger.',
  INCUMBENT_GROUP_LEFT: 'The event [`groupLeft`](#groupleft), in a process without a logger.',
  INCUMBENT_FOREIGN_DATA: 'The event [`foreignData`](#foreigndata), in a process without a logger.',
  INCUMBENT_REAPER_LOST: 'The event [`reaperLost`](#reaperlost), in a process without a logger.',
  INCUMBENT_RENEWER_LOST: 'The event [`renewerLost`](#renewerlost), in a process without a logger.',
  INCUMBENT_STORE_ENDS_EARLY:
    'The event [`storeEndsEarly`](#storeendsearly), in a process without a logger. Once every ' +
    'write is conditional on the term, `--disable-warning=INCUMBENT_STORE_ENDS_EARLY` hides it.',
  INCUMBENT_MONITOR_LATE:
    'A `Monitor` was created after a member of the process had started, so its health and its ' +
    'metrics may lack what that member leads. Create it before the first member.',
  INCUMBENT_PEERS_INSECURE:
    'A TCP transport of `@incumbent/peer` listens on a port that other machines can reach, ' +
    'without security. Give the transport a `secret` or `tls`.',
  INCUMBENT_FILE_EXPOSED:
    'Other users of the machine can change the SQLite file or its folder. The text names the ' +
    'mode to set.',
  INCUMBENT_CRON_MISSED:
    'Slots of a job of `@incumbent/cron` were missed, and will not run. In a `FleetCron` without ' +
    '`onReport`.',
  INCUMBENT_CRON_INTERRUPTED:
    'The leadership of a former leader ended before a run of `@incumbent/cron` was recorded as ' +
    'finished. In a `FleetCron` without `onReport`.',
  INCUMBENT_CRON_ABORTED:
    'The leadership ended during a run of `@incumbent/cron` in this process, and the signal of ' +
    'the run has aborted. In a `FleetCron` without `onReport`.',
  INCUMBENT_CRON_FAILED: 'A run of `@incumbent/cron` threw. In a `FleetCron` without `onReport`.',
  INCUMBENT_CRON_AHEAD:
    'The last slot of a job of `@incumbent/cron` is more than a minute ahead of the clock of the ' +
    'leader, so the job does not run before that time. In a `FleetCron` without `onReport`.',
  INCUMBENT_CRON_REPORT: 'The `onReport` of a `FleetCron` threw or rejected.',
} as const satisfies Readonly<Record<string, string>>;
