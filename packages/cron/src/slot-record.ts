/**
 * What the store holds about a job: its last slot, and what became of it. One key per job, which
 * only the leader changes, so a slot that is recorded is never run again.
 */

import type { Leadership, StoredValue, ValueCodec } from '@incumbent/core';
import { dateOf, type SlotMs, slotOf } from './schedule.ts';

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
}

const VERSION = 1;

const codec: ValueCodec<SlotRecord> = {
  encode: ({ slot, term, state }) =>
    new TextEncoder().encode(JSON.stringify({ v: VERSION, slot: dateOf(slot).toISOString(), term: String(term), state })),
  decode: (bytes) => {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    const { v, slot, term, state }: Readonly<Record<string, unknown>> = typeof value === 'object' && value !== null ? { ...value } : {};
    if (v !== VERSION) throw new Error(`the format of the record is ${String(v)}, not ${VERSION}`);
    const slotMs = typeof slot === 'string' ? slotOf(slot) : Number.NaN;
    const known = STATES.find((each) => each === state);
    if (Number.isNaN(slotMs) || known === undefined || typeof term !== 'string' || !/^\d{1,19}$/.test(term))
      throw new Error('not the record of a job');
    return { slot: slotMs, term: BigInt(term), state: known };
  },
};

/**
 * The record of one job during one leadership. Every write carries the term: the store refuses it
 * once another process has been elected. All calls reject as those of `leadership.stored` do.
 */
export class SlotBook {
  readonly #term: bigint;
  readonly #value: StoredValue<SlotRecord>;

  constructor(leadership: Leadership, election: string, job: string) {
    this.#term = leadership.term;
    this.#value = leadership.stored(`cron/${election}/${job}`, { codec });
  }

  /**
   * Reads the last slot. A new job starts with `nowMs`, so that it misses no slot from then on.
   * Marks a slot that another leadership has started as interrupted, after a call of
   * `onInterrupted`: that leadership can no longer record the end of the run, and a crash here must
   * not hide it.
   */
  async open(nowMs: number, onInterrupted: (slot: SlotRecord) => void): Promise<SlotMs> {
    const term = this.#term;
    const last = await this.#value.get();
    if (last === undefined) {
      const first: SlotRecord = { slot: nowMs, term, state: 'new' };
      const written = await this.#value.update((current) => (current === undefined ? first : undefined));
      return written === undefined ? this.open(nowMs, onInterrupted) : nowMs;
    }
    if (last.state === 'started' && last.term !== term) {
      onInterrupted(last);
      await this.#value.update((current) => (current?.slot === last.slot ? { ...last, state: 'interrupted' } : undefined));
    }
    return last.slot;
  }

  /** Claims a slot. False if this slot or a later one is recorded. */
  async claim(slot: SlotMs): Promise<boolean> {
    return this.#advance(slot, 'started');
  }

  /**
   * Records that no slot up to this one runs any more. False if this one or a later one is
   * recorded.
   */
  async miss(slot: SlotMs): Promise<boolean> {
    return this.#advance(slot, 'missed');
  }

  /** Records how the run of a claimed slot ended, unless a later slot is recorded. */
  async finish(slot: SlotMs, state: 'finished' | 'failed'): Promise<void> {
    const term = this.#term;
    await this.#value.update((current) => (current?.slot === slot && current.term === term ? { slot, term, state } : undefined));
  }

  async #advance(slot: SlotMs, state: SlotState): Promise<boolean> {
    const term = this.#term;
    const written = await this.#value.update((current) =>
      current !== undefined && current.slot >= slot ? undefined : { slot, term, state },
    );
    return written !== undefined;
  }
}
