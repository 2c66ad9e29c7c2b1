/**
 * What the store holds about a job: its last slot, and what became of it. One key per job, which
 * only the leader changes, so a slot that is recorded is never run again.
 */

import type { Leadership, Store, StoredValue, ValueCodec } from '@incumbent/core';
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
  /** A later slot whose claim was taken back, because its run had not begun. */
  readonly returned?: SlotMs;
}

const VERSION = 1;

/** How often the return of a claim is tried. The claim itself may overtake the first try. */
const MAX_RETURNS = 3;

/** The store and the name of the election. */
export interface RecordPlace {
  readonly store: Store;
  readonly name: string;
}

const codec: ValueCodec<SlotRecord> = {
  encode: ({ slot, term, state, returned }) => {
    const more = returned === undefined ? {} : { returned: dateOf(returned).toISOString() };
    return new TextEncoder().encode(JSON.stringify({ v: VERSION, slot: dateOf(slot).toISOString(), term: String(term), state, ...more }));
  },
  decode: (bytes) => {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    const { v, slot, term, state, returned }: Readonly<Record<string, unknown>> =
      typeof value === 'object' && value !== null ? { ...value } : {};
    if (v !== VERSION) throw new Error(`the format of the record is ${String(v)}, not ${VERSION}`);
    const slotMs = typeof slot === 'string' ? slotOf(slot) : Number.NaN;
    const known = STATES.find((each) => each === state);
    if (Number.isNaN(slotMs) || known === undefined || typeof term !== 'string' || !/^\d{1,19}$/.test(term))
      throw new Error('not the record of a job');
    const returnedMs = typeof returned === 'string' ? slotOf(returned) : Number.NaN;
    return { slot: slotMs, term: BigInt(term), state: known, ...(Number.isNaN(returnedMs) ? {} : { returned: returnedMs }) };
  },
};

/**
 * The record of one job during one leadership. Every write carries the term: the store refuses it
 * once another process has been elected. All calls reject as those of `leadership.stored` do.
 */
export class SlotBook {
  readonly #leadership: Leadership;
  readonly #store: Store;
  readonly #term: bigint;
  readonly #value: StoredValue<SlotRecord>;

  constructor(leadership: Leadership, { store, name }: RecordPlace, job: string) {
    this.#leadership = leadership;
    this.#store = store;
    this.#term = leadership.term;
    this.#value = leadership.stored(`cron/${name}/${job}`, { codec });
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

  /**
   * Claims a slot, and calls `begin` at once if the leadership is still valid. Resolves with what
   * `begin` returns, or with undefined if `begin` is not called.
   *
   * If the leadership ends between the claim and `begin`, takes the claim back, so that the next
   * leader has the slot. The drain of the leadership waits for this.
   */
  async claim<T>(slot: SlotMs, begin: () => T): Promise<T | undefined> {
    const claiming = this.#claim(slot, begin);
    this.#leadership.waitUntil(claiming);
    return claiming;
  }

  /**
   * Records that no slot up to this one runs any more. False if this one or a later one is
   * recorded.
   */
  async miss(slot: SlotMs): Promise<boolean> {
    const term = this.#term;
    const written = await this.#value.update((current) => (isAt(current, slot) ? undefined : { slot, term, state: 'missed' }));
    return written !== undefined;
  }

  /** Records how the run of a claimed slot ended, unless a later slot is recorded. */
  async finish(slot: SlotMs, state: 'finished' | 'failed'): Promise<void> {
    const term = this.#term;
    await this.#value.update((current) => (current?.slot === slot && current.term === term ? { slot, term, state } : undefined));
  }

  async #claim<T>(slot: SlotMs, begin: () => T): Promise<T | undefined> {
    const term = this.#term;
    /** What the claim replaces; undefined if no claim has been sent. */
    const sent: { before: SlotRecord | undefined } = { before: undefined };
    try {
      const written = await this.#value.update((current) => {
        sent.before = isAt(current, slot) ? undefined : (current ?? { slot: slot - 1, term, state: 'new' });
        return sent.before === undefined ? undefined : { slot, term, state: 'started' };
      });
      if (written === undefined) return undefined;
      if (this.#leadership.isValid()) return begin();
    } catch (error) {
      // The end of the leadership has cut the claim off. The store may have applied it, or may yet.
      if (!this.#leadership.isValid() && sent.before !== undefined) await this.#takeBack(slot, sent.before);
      throw error;
    }
    if (sent.before !== undefined) await this.#takeBack(slot, sent.before);
    return undefined;
  }

  /**
   * Replaces the claim of a slot by the record before it, and prevents a claim that has not reached
   * the store. No run has begun for the claim, and the guard proves that no later leader has read
   * it, so the slot still runs once at most. Takes at most half of the drain. If the store does not
   * answer, the claim may stand, and the next leader reports it as interrupted.
   */
  async #takeBack(slot: SlotMs, before: SlotRecord): Promise<void> {
    const { drainMs } = await this.#leadership.ended;
    // The store may have ended the lease.
    if (drainMs === 0) return;
    const [{ key }, call] = [this.#value, { timeoutMs: drainMs / (2 * (1 + MAX_RETURNS)) }];
    try {
      let entry = await this.#store.read(key, call);
      for (let tries = 0; tries < MAX_RETURNS && entry !== undefined; tries += 1) {
        const current = codec.decode(entry.value);
        if (current.slot > slot) return;
        // The field makes the bytes differ from those before the claim: some stores keep the revision
        // of a key that is written with the same bytes, and a late claim would still be applied.
        const put = codec.encode({ ...(current.slot === slot ? before : current), returned: slot });
        const change = { key, expect: entry.revision, put };
        const result = await this.#store.compareAndSwap([this.#leadership.guard(), change], call);
        if (result.swapped || result.failed.some(({ index }) => index === 0)) return;
        entry = result.failed[0]?.current;
      }
    } catch {
      // The next leader reports the slot.
    }
  }
}

/** True if this slot or a later one is recorded. */
function isAt(current: SlotRecord | undefined, slot: SlotMs): boolean {
  return current !== undefined && current.slot >= slot;
}
