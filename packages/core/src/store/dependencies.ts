/** Checks of what callers bring along: a store, a logger, a reaper. */

import { invalidOption, invalidSecret } from '../base/validate.ts';
import type { Reaper } from '../lease/reaper.ts';
import type { Logger } from '../base/telemetry.ts';

export function checkStore(store: unknown): void {
  if (typeof store === 'object' && store !== null && 'capabilities' in store && 'compareAndSwap' in store) return;
  // A URL in its place has the password in it.
  throw invalidSecret('store', store, 'an open store, as openStore(url) or openEtcd(url) resolve with (await it)');
}

export function checkLogger(logger: unknown): Logger | undefined {
  if (logger === undefined || isLogger(logger)) return logger;
  throw invalidOption('logger', logger, 'an object with the functions debug, info, warn and error');
}

function isLogger(value: unknown): value is Logger {
  return typeof value === 'object' && value !== null && ['debug', 'info', 'warn', 'error'].every((level) => level in value);
}

export function checkReaper(reaper: unknown): Reaper | undefined {
  if (reaper === undefined || isReaper(reaper)) return reaper;
  throw invalidOption(
    'reaper',
    reaper,
    'what reaper() of @incumbent/reaper gives; true is understood by the Member of the package incumbent alone',
  );
}

function isReaper(value: unknown): value is Reaper {
  return typeof value === 'object' && value !== null && 'join' in value && typeof value.join === 'function';
}
