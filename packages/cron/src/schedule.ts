/** When a job runs: the slots of a schedule, and those of them that were missed. */

import { checkFunction, invalidOption } from '@incumbent/core/adapter';

/**
 * The times at which a job runs. A `Cron` of croner is one. `cronSchedule` makes one for `cron`.
 */
export interface Schedule {
  /**
   * Returns the first slot after this time, or null if there is none. A later time never has an
   * earlier first slot. Every process of the fleet must get the same slots, so they must not depend
   * on when the process started, and a schedule in local time needs its time zone.
   */
  nextRun(after: Date): Date | null;
}

/** A slot: the scheduled time of one run, in ms since the epoch. */
export type SlotMs = number;

/**
 * The simulator forbids the global `Date` while a world runs, so this module keeps the class. With
 * a time as its argument, its result is the same in every run.
 */
const SlotDate = Date;

/** The slot as a `Date`. */
export function dateOf(slot: SlotMs): Date {
  return new SlotDate(slot);
}

/** The time that `toISOString` has written. NaN for other text. */
export function slotOf(text: string): SlotMs {
  return SlotDate.parse(text);
}

/** The latest time that a `Date` holds. */
const MAX_DATE_MS = 8.64e15;

/** Throws `INVALID_OPTION` unless the value is a schedule. */
export function checkSchedule(schedule: unknown): void {
  if (typeof schedule !== 'object' || schedule === null || !('nextRun' in schedule))
    throw invalidOption('schedule', schedule, 'an object with the function nextRun, such as a Cron of croner');
  checkFunction('schedule.nextRun', schedule.nextRun);
}

/**
 * The first slot after this time; undefined if there is none. Throws `INVALID_OPTION` if the
 * schedule returns a time that is not after this one: a job would otherwise run in an endless loop.
 */
export function nextSlot(schedule: Schedule, afterMs: SlotMs): SlotMs | undefined {
  const next: unknown = schedule.nextRun(dateOf(afterMs));
  if (next === null || next === undefined) return undefined;
  const slot = next instanceof SlotDate ? next.getTime() : Number.NaN;
  if (slot > afterMs && slot <= MAX_DATE_MS) return slot;
  throw invalidOption('the result of schedule.nextRun', slot, `a Date after ${afterMs}, or null`);
}

/**
 * The slots of a job whose schedule was changed: one that is due by the former schedule, and those
 * of the new schedule after `fromMs`, which is not before `due`.
 */
export function afterChange(schedule: Schedule, { due, fromMs }: { readonly due: SlotMs; readonly fromMs: number }): Schedule {
  return {
    nextRun: (after) => (after.getTime() < due ? dateOf(due) : schedule.nextRun(dateOf(Math.max(after.getTime(), fromMs)))),
  };
}

/**
 * Of the slots from `first` to `untilMs`, only the latest `keep` run late. Returns the last slot
 * before those, or undefined if there are at most `keep` slots. `first` is a slot itself. Calls the
 * schedule at most `keep` times. If there are more slots, calls it about 60 times more for each of
 * `keep + 1` searches, however long the gap is.
 */
export function lastDropped(schedule: Schedule, first: SlotMs, untilMs: number, keep: number): SlotMs | undefined {
  let end: SlotMs | undefined = first;
  for (let kept = 0; kept < keep; kept += 1) {
    end = nextSlot(schedule, end);
    if (end === undefined || end > untilMs) return undefined;
  }
  // There are more slots than are kept, so each of these searches finds one.
  let last = latestSlot(schedule, first, untilMs);
  for (let kept = 0; kept < keep; kept += 1) last = latestSlot(schedule, first, last - 1);
  return last;
}

/** The last slot up to `untilMs`, found by bisection from `first`, which is a slot itself. */
function latestSlot(schedule: Schedule, first: SlotMs, untilMs: number): SlotMs {
  let latest = first;
  let end = untilMs;
  while (latest < end) {
    const middle = latest + Math.floor((end - latest) / 2);
    const next = nextSlot(schedule, middle);
    if (next !== undefined && next <= untilMs) latest = next;
    else end = middle;
  }
  return latest;
}
