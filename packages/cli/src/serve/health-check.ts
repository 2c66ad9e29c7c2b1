/** Asks the application whether it is healthy, for `--health`. */

import type { Cancel, Clock } from '@incumbent/core';

/** The time between two checks, and the most that one may take, in ms. */
export const CHECK_EVERY_MS = 2_000;
const CHECK_TIMEOUT_MS = 2_000;
/** The application is unhealthy after so many checks in a row that failed. */
export const MAX_FAILURES = 3;

export interface HealthCheckOptions {
  readonly clock: Clock;
  /** Resolves if the application is healthy, and rejects if not. */
  readonly check: () => Promise<void>;
  /** Called with true after the first check that succeeded, and then after every change. */
  readonly changed: (healthy: boolean) => void;
}

/** Checks again and again, one check at a time, until the returned function is called. */
export function startHealthCheck({ clock, check, changed }: HealthCheckOptions): Cancel {
  let [healthy, failures, isOver] = [false, 0, false];
  let cancel: Cancel = () => {};
  const settled = (ok: boolean): void => {
    if (isOver) return;
    failures = ok ? 0 : failures + 1;
    if (ok !== healthy && (ok || failures >= MAX_FAILURES)) {
      healthy = ok;
      changed(healthy);
    }
    cancel = clock.schedule(CHECK_EVERY_MS, run);
  };
  const run = (): void =>
    void check().then(
      () => settled(true),
      () => settled(false),
    );
  run();
  return () => {
    isOver = true;
    cancel();
  };
}

/** A check that gets the URL. Every status from 200 to 399 is healthy. */
export function urlCheck(url: URL): () => Promise<void> {
  return async () => {
    const { status, body } = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) });
    await body?.cancel();
    if (status >= 400) throw new Error(`the application answers ${status}`);
  };
}
