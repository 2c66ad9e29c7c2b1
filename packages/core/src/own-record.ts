/** The leader's record, as its holder writes it: always conditional on the term, and on the revision that it wrote last. */

import type { Won } from './candidate-state.ts';
import { isPassing, outcomeOf } from './errors.ts';
import type { ElectionKeys } from './keys.ts';
import { readLeader, writeLeader, type Payload } from './record.ts';
import type { SessionContext } from './session.ts';
import type { CallOptions, Change, Entry, Revision } from './store.ts';
import type { Remains, Self } from './swaps.ts';
import { sleep } from './waits.ts';

export interface OwnRecordContext extends SessionContext {
  readonly keys: ElectionKeys;
  readonly self: Self;
  readonly won: Won;
}

/** How a write ended: it is there, or the record turned out to be gone, or it or the term another's. */
export type Written = 'written' | 'deleted' | 'replaced';

/** Makes one call to the store, and passes on its errors. */
export type Call = <T>(task: (options: CallOptions) => Promise<T>) => Promise<T>;

/** How a write is made, and when there is no point in it any more. */
export interface Writing {
  readonly call: Call;
  /** Ends its waits; its calls end as `call` sees to it. */
  readonly signal: AbortSignal;
  /** Throws when there is no point any more. */
  readonly goOn: () => void;
}

export class OwnRecord {
  readonly #context: OwnRecordContext;
  #revision: Revision;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(context: OwnRecordContext) {
    this.#context = context;
    this.#revision = context.won.leaderRevision;
  }

  /** "My term is still the last one." */
  get guard(): Change {
    return { key: this.#context.keys.term, expect: this.#context.won.termRevision };
  }

  /** What of this term is in the store, as far as is known without asking; undefined where too little is. `entry`: its own in the queue. */
  remains(entry: Entry): Remains | undefined {
    const { won, keys, self } = this.#context;
    if (won.termValue === undefined) return undefined;
    const record = writeLeader({ term: won.term, ...self, entry: won.entry.key, payload: undefined });
    return {
      leader: { key: keys.leader, name: 'leader', value: record, revision: this.#revision, order: 0n },
      term: { key: keys.term, name: 'term', value: won.termValue, revision: won.termRevision, order: 0n },
      entry,
    };
  }

  isMine(record: Entry): boolean {
    const { won } = this.#context;
    try {
      const { entry, term } = readLeader(record);
      return entry === won.entry.key && term === won.term;
    } catch {
      return false;
    }
  }

  /** Writes a value, after those before it; tries until it is certain. `goOn` throws when there is no point any more. */
  async write(payload: Payload, how: Writing): Promise<Written> {
    const { won, self } = this.#context;
    const put = writeLeader({ term: won.term, ...self, entry: won.entry.key, payload });
    const turn = this.#turn.then(() => this.#untilCertain(put, how));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #untilCertain(put: Uint8Array, { call, signal, goOn }: Writing): Promise<Written> {
    for (;;) {
      goOn();
      const written = await this.#try(put, call);
      if (written !== 'again') return written;
      await sleep(this.#context.clock, this.#context.timing.retryEveryMs, signal);
    }
  }

  async #try(put: Uint8Array, call: Call): Promise<Written | 'again'> {
    const { store, keys } = this.#context;
    const changes: Change[] = [this.guard, { key: keys.leader, expect: this.#revision, put }];
    try {
      const result = await call((options) => store.compareAndSwap(changes, options));
      if (!result.swapped) return result.failed.some(({ index }) => index === 0) ? 'replaced' : await this.#readBack(put, call);
      this.#revision = result.revisions[1] ?? this.#revision;
      return 'written';
    } catch (error) {
      if (!isPassing(error)) throw error;
      return outcomeOf(error) === 'unknown' ? this.#readBack(put, call) : 'again';
    }
  }

  /** The record may not be at the revision that is known: an earlier try was applied after all, or it is no longer mine. */
  async #readBack(put: Uint8Array, call: Call): Promise<Written | 'again'> {
    const { store, keys } = this.#context;
    const current = await call((options) => store.read(keys.leader, options)).catch(() => null);
    if (current === null) return 'again';
    if (current === undefined) return 'deleted';
    if (!this.isMine(current)) return 'replaced';
    this.#revision = current.revision;
    return sameBytes(current.value, put) ? 'written' : 'again';
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
