/**
 * The leader's record, written by the leader alone. Every write checks the term and the revision of
 * the last write.
 */

import { sleep } from '../async/sleep.ts';
import { isRetryable, outcomeOf } from '../base/errors.ts';
import type { SessionContext } from '../lease/session.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import { type LeaderRecord, type Payload, type PreviousRecord, readLeader, writeLeader, writtenLeader } from '../protocol/record.ts';
import type { Remains, MemberIdentity, Won } from '../protocol/transactions.ts';
import type { CallOptions, Change, Entry, Key, Revision } from '../store/contract.ts';

/** What the writes need. */
export interface LeaderRecordContext extends SessionContext {
  readonly self: MemberIdentity;
}

/**
 * How a write ended: `deleted` if the record is gone, `replaced` if another member has the record
 * or the term.
 */
export type Written = 'written' | 'deleted' | 'replaced';

/** Makes one call to the store. Rejects as the store does, or if the write need not go on. */
export type Call = <T>(task: (options: CallOptions) => Promise<T>) => Promise<T>;

/** How to make a write, and when to stop. */
export interface Writing {
  readonly call: Call;
  /** Ends the waits between tries. The calls end as `call` decides. */
  readonly signal: AbortSignal;
}

/** Writes the leader's record in one term. */
export class LeaderRecordWriter {
  readonly #context: LeaderRecordContext;
  readonly #keys: ElectionKeys;
  readonly #term: bigint;
  /** The key of the entry that won the term. */
  readonly #entryKey: Key;
  readonly #termRevision: Revision;
  readonly #termValue: Uint8Array | undefined;
  readonly #previous: PreviousRecord | undefined;
  /** The revision of the record. Undefined if it is not known: then the first write reads it. */
  #revision: Revision | undefined;
  /** How many writes were requested. */
  #publications = 0;
  /** The last requested write. The next one starts after it. */
  #lastWrite: Promise<unknown> | undefined;

  constructor(context: LeaderRecordContext, keys: ElectionKeys, won: Won) {
    this.#context = context;
    this.#keys = keys;
    this.#term = won.term;
    this.#entryKey = won.entry.key;
    this.#termRevision = won.termRevision;
    this.#termValue = won.termValue;
    this.#previous = won.previous;
    this.#revision = won.leaderRevision;
  }

  /** The check "my term is still the last one". */
  get guard(): Change {
    return { key: this.#keys.term, expect: this.#termRevision };
  }

  /**
   * What the store holds of this term, as far as is known without a read; undefined if too little
   * is known. `entry`: the leader's entry in the queue.
   */
  remains(entry: Entry): Remains | undefined {
    const [keys, value, revision] = [this.#keys, this.#termValue, this.#termRevision];
    if (value === undefined || this.#revision === undefined) return undefined;
    return {
      leader: writtenLeader(keys.leader, this.#revision, this.#recordOf(undefined)),
      term: { key: keys.term, name: 'term', value, revision, order: 0n },
      entry,
    };
  }

  /** True if this leadership has written the record. False if it is unreadable. */
  isMine(record: Entry): boolean {
    try {
      const { entry, term } = readLeader(record);
      return entry === this.#entryKey && term === this.#term;
    } catch {
      return false;
    }
  }

  /**
   * Writes a value after the earlier writes. Retries until the outcome is certain, or `call`
   * rejects with an error that a retry does not solve.
   */
  async write(payload: Payload, how: Writing): Promise<Written> {
    this.#publications += 1;
    const put = writeLeader(this.#recordOf(payload));
    const writing = Promise.resolve(this.#lastWrite).then(() => this.#untilCertain(put, how));
    this.#lastWrite = writing.catch(() => {});
    return writing;
  }

  #recordOf(payload: Payload): LeaderRecord {
    const publication = this.#publications === 0 ? undefined : this.#publications;
    return { term: this.#term, ...this.#context.self, entry: this.#entryKey, payload, previous: this.#previous, publication };
  }

  async #untilCertain(put: Uint8Array, { call, signal }: Writing): Promise<Written> {
    for (;;) {
      const written = await this.#try(put, call);
      if (written !== 'again') return written;
      await sleep(this.#context.clock, this.#context.timing.retryEveryMs, signal);
    }
  }

  async #try(put: Uint8Array, call: Call): Promise<Written | 'again'> {
    const [{ store }, keys] = [this.#context, this.#keys];
    try {
      // `call` rejects if the leadership has ended, which must end the retries.
      if (this.#revision === undefined) {
        const found = this.#found(await call((options) => store.read(keys.leader, options)), put);
        if (found !== 'again' || this.#revision === undefined) return found;
      }
      const changes: Change[] = [this.guard, { key: keys.leader, expect: this.#revision, put }];
      const result = await call((options) => store.compareAndSwap(changes, options));
      if (!result.swapped) return result.failed.some(({ index }) => index === 0) ? 'replaced' : await this.#readBack(put, call);
      this.#revision = result.revisions[1] ?? this.#revision;
      return 'written';
    } catch (error) {
      if (!isRetryable(error)) throw error;
      return outcomeOf(error) === 'unknown' ? this.#readBack(put, call) : 'again';
    }
  }

  /** Reads the record after a write of unknown outcome, or one that met another revision. */
  async #readBack(put: Uint8Array, call: Call): Promise<Written | 'again'> {
    const [{ store }, keys] = [this.#context, this.#keys];
    const current = await call((options) => store.read(keys.leader, options)).catch(() => null);
    return current === null ? 'again' : this.#found(current, put);
  }

  /** Judges the write by the record that was read. */
  #found(current: Entry | undefined, put: Uint8Array): Written | 'again' {
    if (current === undefined) return 'deleted';
    if (!this.isMine(current)) return 'replaced';
    this.#revision = current.revision;
    return sameBytes(current.value, put) ? 'written' : 'again';
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
