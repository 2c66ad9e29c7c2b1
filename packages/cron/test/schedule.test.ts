import { Cron } from 'croner';
import { CronTime } from 'cron';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cronSchedule } from '../src/index.ts';
import { lastDropped, nextSlot, type Schedule } from '../src/schedule.ts';
import { every } from './support/fleet.ts';

/** The slots of a list. */
function listed(slots: readonly number[]): Schedule {
  return {
    nextRun: (after) => {
      const next = slots.find((slot) => slot > after.getTime());
      return next === undefined ? null : new Date(next);
    },
  };
}

describe('the slots of a gap that are too many to run late', () => {
  it('are all but the latest ones, for any schedule', () => {
    const slots = fc.uniqueArray(fc.integer({ min: 1, max: 10_000 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(slots, fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 3_000 }), (unsorted, keep, after) => {
        const all = unsorted.toSorted((a, b) => a - b);
        const [first = 0] = all;
        const missed = all.filter((slot) => slot <= first + after);
        const dropped = missed.slice(0, Math.max(missed.length - keep, 0));
        expect(lastDropped(listed(all), first, first + after, keep)).toBe(dropped.at(-1));
      }),
    );
  });

  it('are found with few calls of the schedule, however long the gap is', () => {
    let calls = 0;
    const counting: Schedule = {
      nextRun: (after) => {
        calls += 1;
        return every(1_000).nextRun(after);
      },
    };
    const year = 365 * 86_400_000;
    expect(lastDropped(counting, 1_000, year, 3)).toBe(year - 3_000);
    expect(calls).toBeLessThan(3 + 4 * 60);
  });
});

describe('a schedule', () => {
  it.each([
    ['returns the same time', (after: Date) => after],
    ['goes back', () => new Date(0)],
    ['returns an invalid date', () => new Date(Number.NaN)],
  ])('that %s is refused', (_, nextRun) => {
    expect(() => nextSlot({ nextRun }, 1_000)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });

  it('of croner is one as it is', () => {
    const schedule: Schedule = new Cron('0 3 * * *', { timezone: 'Europe/Berlin' });
    expect(nextSlot(schedule, Date.UTC(2030, 0, 1))).toBe(Date.UTC(2030, 0, 1, 2));
    expect(nextSlot(schedule, Date.UTC(2030, 6, 1))).toBe(Date.UTC(2030, 6, 1, 1));
    expect(nextSlot(schedule, Date.UTC(2030, 6, 1, 1))).toBe(Date.UTC(2030, 6, 2, 1));
  });

  it.each([
    [new CronTime('0 3 * * *', 'Europe/Berlin'), Date.UTC(2030, 0, 1, 2)],
    [new CronTime('0 3 * * *', null, 330), Date.UTC(2030, 0, 1, 21, 30)],
    [new CronTime('0 3 * * *', null, -90), Date.UTC(2030, 0, 1, 4, 30)],
  ])('of cron has the time zone or the offset of its CronTime', (time, expected) => {
    expect(nextSlot(cronSchedule(time), Date.UTC(2030, 0, 1))).toBe(expected);
    expect(nextSlot(cronSchedule(time), expected)).toBe(expected + 86_400_000);
  });

  it('of cron is no single date', () => {
    for (const time of [new CronTime(new Date(Date.UTC(2030, 0, 1))), undefined, '* * * * *'])
      expect(() => cronSchedule(time as CronTime)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});
