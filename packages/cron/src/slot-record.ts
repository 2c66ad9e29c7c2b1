/**
 * What the store holds about a job: its last slot, and what became of it. One key per job, which
 * only the leader changes, so a slot that is recorded is never run again.
 */

import type { Leadership, StoredValue, ValueCodec } from '@incumbent/core';
import type { CronReport } from './reports.ts';
import { afterChange, dateOf, nextSlot, type Schedule, type SlotMs, slotOf } from './schedule.ts';

/**
 * What became of a slot. `new`: no slot, but the time since which slots of this job count.
 * `started`: the slot was claimed, and its run has not finished, or nobody knows. `finished` and
 * `failed`: its run returned or threw. `missed`: it did not run, and will not. `interrupted`: the
 * leadership under which it was started ended before its run was recorded as finished.
 */
const STATES = ['new', 'started', 'finished', 'failed', 'missed', 'interrupted'] as const;
type SlotState = (typeof STATES)[number];

/** The last slot of a job. */
export interface SlotRecord {
  readonly slot: SlotMs;
  /** The term of the leader that wrote it. */
  readonly term: bigint;
  readonly state: SlotState;
  /**
   * The first of the missed slots up to this one that nobody may have reported yet. A version that
   * does not know this field takes them as reported.
   */
  readonly unreportedFrom?: SlotMs;
  /**
   * The slot after this one, by which a later leader sees that the schedule was changed. Infinity
   * if the schedule has none. Absent if another scheduler had the schedule, such as node-cron, or
   * if a version wrote the record that does not know this field.
   */
  readonly next?: SlotMs;
  /**
   * After a change of the schedule: its slots up to this time are none of the job's, although they
   * come after `slot`.
   */
  readonly countFrom?: SlotMs;
}

const VERSION = 1;

const codec: ValueCodec<SlotRecord> = {
  encode: ({ slot, term, state, unreportedFrom, next, countFrom }) => {
    const record = { v: VERSION, slot: timeOf(slot), term: String(term), state };
    // JSON leaves out what is undefined.
    const times = { unreportedFrom: timeOf(unreportedFrom), next: timeOf(next), countFrom: timeOf(countFrom) };
    return new TextEncoder().encode(JSON.stringify({ ...record, ...times }));
  },
  decode: (bytes) => {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    const { v, slot, term, state, unreportedFrom, next, countFrom }: Readonly<Record<string, unknown>> =
      typeof value === 'object' && value !== null ? { ...value } : {};
    if (v !== VERSION) throw new Error(`the format of the record is ${String(v)}, not ${VERSION}`);
    const [slotMs, fromMs, nextMs, countFromMs] = [slotIn(slot), slotIn(unreportedFrom), slotIn(next), slotIn(countFrom)];
    const known = STATES.find((each) => each === state);
    const isTime = slotMs !== undefined && Number.isFinite(slotMs) && ![fromMs, nextMs, countFromMs].includes(Number.NaN);
    if (!isTime || known === undefined || typeof term !== 'string' || !/^\d{1,19}$/.test(term)) throw new Error('not the record of a job');
    return {
      slot: slotMs,
      term: BigInt(term),
      state: known,
      ...(fromMs === undefined ? {} : { unreportedFrom: fromMs }),
      ...(nextMs === undefined ? {} : { next: nextMs }),
      ...(countFromMs === undefined ? {} : { countFrom: countFromMs }),
    };
  },
};

/** What the record holds for Infinity. */
const NEVER = 'never';

function timeOf(slot: SlotMs | undefined): string | undefined {
  return slot === undefined ? undefined : slot === Infinity ? NEVER : dateOf(slot).toISOString();
}

/** NaN if the value is not a time. */
function slotIn(value: unknown): SlotMs | undefined {
  if (value === undefined) return undefined;
  return value === NEVER ? Infinity : typeof value === 'string' ? slotOf(value) : Number.NaN;
}

/** The slots of a job that were not claimed in time: all from `from` to `to`. */
export interface MissedSlots {
  readonly from: SlotMs;
  readonly to: SlotMs;
  /** Whether `onReport` is to hear of them. */
  readonly isReported: boolean;
}

/**
 * How far the last slot may be ahead of the leader's clock before the leader reports it, in ms.
 * Synchronized clocks differ by much less, so a slot beyond it was recorded by a clock that was
 * wrong, whatever the interval of the job is. A job that is held back for less is not reported.
 */
const MAX_AHEAD_MS = 60_000;

/**
 * The record of one job during one leadership. Every write carries the term: the store refuses it
 * once another process has been elected. All calls reject as those of `leadership.stored` do.
 *
 * A leader may end at any moment, so the record also says what is still to report. The next leader
 * reports that, and then records that it did: a report may come twice, but is never lost.
 */
export class SlotBook {
  readonly #job: string;
  readonly #term: bigint;
  readonly #value: StoredValue<SlotRecord>;
  readonly #report: (report: CronReport) => void;
  #schedule: Schedule | undefined;
  /** The slots of the schedule count from this time on. */
  #countFrom = -Infinity;
  /** The last slot, as far as this book has read or written it. */
  #last: SlotMs = -Infinity;
  #isAheadReported = false;

  constructor(leadership: Leadership, { election, job, schedule, report }: SlotBookParts) {
    this.#job = job;
    this.#term = leadership.term;
    this.#value = leadership.stored(`cron/${election}/${job}`, { codec });
    this.#schedule = schedule;
    this.#report = report;
  }

  /** The slots of the job after the one that `open` returned. Undefined if another has them. */
  get schedule(): Schedule | undefined {
    return this.#schedule;
  }

  /**
   * Reads the last slot. A new job starts with `nowMs`, so that it misses no slot from then on.
   * Reports what former leaders may not have reported: the slots that they missed, and a run whose
   * end they can no longer record.
   *
   * If another slot than the recorded one follows the last slot, the schedule was changed. Then the
   * job has the slots of the new schedule from `nowMs` on, because those before were none of the
   * job when they passed. The recorded one is missed if it has come. A last slot that is ahead of
   * the clock stays: a slot up to it may have run.
   */
  async open(nowMs: number): Promise<SlotMs> {
    const last = await this.#value.get();
    if (last === undefined) return (await this.#begin(undefined, nowMs)) ? nowMs : this.open(nowMs);
    const { slot, state, unreportedFrom: from } = last;
    this.#last = slot;
    if (from !== undefined) await this.#reportMissed(from, slot);
    else if (state === 'started' && last.term !== this.#term) {
      this.#report({ type: 'interrupted', job: this.#job, slot: dateOf(slot), term: last.term });
      await this.#value.update((current) => (current?.slot === slot ? { ...last, state: 'interrupted' } : undefined));
    }
    const schedule = this.#schedule;
    const isKnown = schedule !== undefined && last.next !== undefined;
    const countFrom = Math.max(slot, last.countFrom ?? slot);
    if (!isKnown || last.next === this.#after(countFrom).next || slot >= nowMs) return countFrom;
    if (last.next > nowMs) return (await this.#begin(slot, nowMs)) ? nowMs : slot;
    this.#schedule = afterChange(schedule, { due: last.next, fromMs: nowMs });
    this.#countFrom = nowMs;
    return slot;
  }

  /** Claims a slot. False if this slot or a later one is recorded. */
  async claim(slot: SlotMs): Promise<boolean> {
    return this.#advance({ slot, term: this.#term, state: 'started', ...this.#after(slot) });
  }

  /**
   * Records that these slots do not run any more, unless the last one or a later one is recorded.
   * Only a write that the store accepts proves that no newer leader has run them, so the report
   * comes after it.
   */
  async miss({ from, to, isReported }: MissedSlots): Promise<void> {
    const missed: SlotRecord = { slot: to, term: this.#term, state: 'missed', ...this.#after(to) };
    const isRecorded = await this.#advance(isReported ? { ...missed, unreportedFrom: from } : missed);
    if (isRecorded && isReported) await this.#reportMissed(from, to);
  }

  /** Records how the run of a claimed slot ended, unless a later slot is recorded. */
  async finish(slot: SlotMs, state: 'finished' | 'failed'): Promise<void> {
    const term = this.#term;
    await this.#value.update((current) => (current?.slot === slot && current.term === term ? { ...current, state } : undefined));
  }

  /**
   * Reports, once, a last slot that is far ahead of the clock: no slot up to it runs, which nobody
   * would notice otherwise.
   */
  checkAhead(nowMs: number): void {
    const byMs = this.#last - nowMs;
    if (byMs <= MAX_AHEAD_MS || this.#isAheadReported) return;
    this.#isAheadReported = true;
    this.#report({ type: 'ahead', job: this.#job, slot: dateOf(this.#last), byMs });
  }

  /** Counts the slots of the job from `nowMs` on. False if its last slot is another one now. */
  async #begin(last: SlotMs | undefined, nowMs: number): Promise<boolean> {
    const first: SlotRecord = { slot: nowMs, term: this.#term, state: 'new', ...this.#after(nowMs) };
    const written = await this.#value.update((current) => (current?.slot === last ? first : undefined));
    if (written !== undefined) this.#last = nowMs;
    return written !== undefined;
  }

  async #reportMissed(from: SlotMs, to: SlotMs): Promise<void> {
    this.#report({ type: 'missed', job: this.#job, from: dateOf(from), to: dateOf(to) });
    await this.#value.update((current) => {
      if (current?.slot !== to) return undefined;
      const { unreportedFrom: _, ...reported } = current;
      return reported;
    });
  }

  /** What the record of this slot says about the slots after it. */
  #after(slot: SlotMs): Pick<SlotRecord, 'next' | 'countFrom'> {
    if (this.#schedule === undefined) return {};
    const next = nextSlot(this.#schedule, slot) ?? Infinity;
    return slot < this.#countFrom ? { next, countFrom: this.#countFrom } : { next };
  }

  async #advance(record: SlotRecord): Promise<boolean> {
    let last = record.slot;
    const written = await this.#value.update((current) => {
      if (current === undefined || current.slot < record.slot) return record;
      last = current.slot;
      return undefined;
    });
    this.#last = last;
    return written !== undefined;
  }
}

interface SlotBookParts {
  readonly election: string;
  readonly job: string;
  /** Undefined if another scheduler has it, such as node-cron. */
  readonly schedule: Schedule | undefined;
  readonly report: (report: CronReport) => void;
}
