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

/** The first slots after this time. */
function slotsOf(schedule: Schedule, afterMs: number, count: number): readonly number[] {
  const slots: number[] = [];
  for (let last = afterMs; slots.length < count;) {
    last = nextSlot(schedule, last) ?? Number.NaN;
    slots.push(last);
  }
  return slots;
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

  it.each([
    ['0 0 3 * * *', 'Europe/Berlin', Date.UTC(2026, 9, 24, 1), Date.UTC(2026, 9, 25, 2)],
    ['0 0 2 * * *', 'America/New_York', Date.UTC(2026, 9, 31, 6), Date.UTC(2026, 10, 1, 7)],
    ['0 30 2 * * *', 'Europe/London', Date.UTC(2026, 9, 24, 1, 30), Date.UTC(2026, 9, 25, 2, 30)],
    ['0 0 0 * * *', 'Africa/Cairo', Date.UTC(2026, 9, 28, 21), Date.UTC(2026, 9, 29, 22)],
  ])('of cron has one slot a day, also when the clocks go back: %s in %s', (expression, zone, before, next) => {
    const schedule = cronSchedule(new CronTime(expression, zone));
    expect(nextSlot(schedule, before)).toBe(next);
    expect(nextSlot(schedule, next)).toBe(next + 86_400_000);
  });

  it('of cron has the slots of the hour that comes twice, and those that were skipped', () => {
    const [fall, spring] = [Date.UTC(2026, 9, 25), Date.UTC(2026, 2, 29)];
    const hourly = cronSchedule(new CronTime('0 0 * * * *', 'Europe/Berlin'));
    expect(slotsOf(hourly, fall - 1, 4)).toEqual([0, 1, 2, 3].map((hour) => fall + hour * 3_600_000));
    const skipped = cronSchedule(new CronTime('0 30 2 * * *', 'Europe/Berlin'));
    expect(slotsOf(skipped, spring, 2)).toEqual([spring + 3_600_000, spring + 24.5 * 3_600_000]);
  });

  it.each([
    ['0 30 2 * * *', 'Europe/Berlin', Date.UTC(2026, 9, 24, 0, 30), Date.UTC(2026, 9, 25, 8), Date.UTC(2026, 9, 24, 0, 30)],
    ['0 30 1 * * *', 'America/New_York', Date.UTC(2026, 9, 31, 5, 30), Date.UTC(2026, 10, 1, 15), Date.UTC(2026, 9, 31, 5, 30)],
  ])('of cron has a last missed slot after a night when the clocks went back: %s in %s', (expression, zone, first, until, dropped) => {
    expect(lastDropped(cronSchedule(new CronTime(expression, zone)), first, until, 1)).toBe(dropped);
  });

  const DAILY = ['30 0 * * *', '30 1 * * *', '30 2 * * *', '*/20 0 * * *', '*/20 1 * * *', '*/20 2 * * *', '*/20 23 * * *'];
  const OFTEN = ['30 */2 * * *', '10,50 1-2 * * *', '0 * * * *', '*/20 * * * *', '0 0,2 * * 0'];

  it.each([
    ['Europe/Berlin', Date.UTC(2026, 9, 25, 1)],
    ['Europe/Berlin', Date.UTC(2026, 2, 29, 1)],
    ['America/New_York', Date.UTC(2026, 10, 1, 6)],
    ['America/Havana', Date.UTC(2026, 10, 1, 5)],
    ['America/Santiago', Date.UTC(2026, 3, 5, 3)],
    ['Asia/Beirut', Date.UTC(2026, 9, 24, 21)],
  ])('of cron never has an earlier slot for a later time: in %s', (zone, changeMs) => {
    for (const expression of [...DAILY, ...OFTEN]) {
      const schedule = cronSchedule(new CronTime(expression, zone));
      let last = 0;
      for (let at = changeMs - 4 * 3_600_000; at < changeMs + 4 * 3_600_000; at += 10 * 60_000 + 17_000) {
        const slot = nextSlot(schedule, at) ?? 0;
        expect(slot, `${expression} from ${new Date(at).toISOString()}`).toBeGreaterThanOrEqual(last);
        last = slot;
      }
    }
  });

  it('of cron goes on where cron goes back', () => {
    const schedule = cronSchedule(new CronTime('0 */15 * * * *', 'Australia/Lord_Howe'));
    const from = Date.UTC(2026, 3, 4, 14);
    const slots = slotsOf(schedule, from, 9);
    expect(slots.at(-1)).toBe(Date.UTC(2026, 3, 4, 16, 30));
  });

  it('of cron is no single date', () => {
    for (const time of [new CronTime(new Date(Date.UTC(2030, 0, 1))), undefined, '* * * * *'])
      expect(() => cronSchedule(time as CronTime)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});
