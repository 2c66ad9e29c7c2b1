/**
 * The keys of one leader: its record, which it alone writes, and its entry in the queue. Every
 * write checks the term and the revision of the last write.
 */

import { sleep } from '../async/sleep.ts';
import { isRetryable, outcomeOf } from '../base/errors.ts';
import type { SessionContext } from '../lease/session.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import {
  type CandidateRecord,
  type LeaderRecord,
  type Payload,
  type PreviousRecord,
  readCandidate,
  readLeader,
  tryRead,
  writeLeader,
} from '../protocol/record.ts';
import type { Remains, MemberIdentity, Won } from '../protocol/transactions.ts';
import { sameBytes } from '../protocol/value-codec.ts';
import type { CallOptions, Change, Entry, Key, Revision, Store } from '../store/contract.ts';
import type { KeyWatch } from '../store/key-watch.ts';

/** What the writes need. */
export interface LeaderRecordContext extends SessionContext {
  readonly self: MemberIdentity;
}

/**
 * How a write ended: `deleted` if the record is gone, `replaced` if another member has the record
 * or the term.
 */
export type PublishOutcome = 'written' | 'deleted' | 'replaced';

/**
 * Makes one call to the store. Rejects as the store does, or because the leadership has ended or
 * the caller has aborted.
 */
export type Call = <T>(task: (options: CallOptions) => Promise<T>) => Promise<T>;

/** How to make a write, and when to stop. */
export interface PublishCall {
  readonly call: Call;
  /** Ends the tries when it aborts. */
  readonly signal: AbortSignal;
}

const [toUtf8, fromUtf8] = [new TextEncoder(), new TextDecoder()];

const guardStores = new WeakMap<Change, Store>();

/** The store that this guard of a leadership is for. Undefined for any other change. */
export function storeOfGuard(guard: Change): Store | undefined {
  return guardStores.get(guard);
}

/** Writes the leader's record in one term. */
export class LeaderRecordWriter {
  readonly #context: LeaderRecordContext;
  readonly #keys: ElectionKeys;
  readonly #term: bigint;
  /** The key of the entry that won the term. */
  readonly #entryKey: Key;
  readonly #termRevision: Revision;
  /**
   * The value of the term at `#termRevision`. Undefined if it is not known. As text, because it is
   * kept for all of the term, and bytes take three times the memory.
   */
  #termText: string | undefined;
  readonly #previous: PreviousRecord | undefined;
  /**
   * The revision of the record. Undefined if it is not known: then the first write reads it, unless
   * a watch shows it before.
   */
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
    this.#termText = won.termValue && fromUtf8.decode(won.termValue);
    this.#previous = won.previous;
    this.#revision = won.leaderRevision;
  }

  /** The check "my term is still the last one". */
  get guard(): Change {
    const guard: Change = { key: this.#keys.term, expect: this.#termRevision };
    guardStores.set(guard, this.#context.store);
    return guard;
  }

  /**
   * What the store holds of this term, as far as is known without a read; undefined if too little
   * is known. `entryRevision`: of the leader's entry in the queue.
   */
  remains(entryRevision: Revision | undefined): Remains | undefined {
    const [keys, text, revision] = [this.#keys, this.#termText, this.#termRevision];
    if (text === undefined || this.#revision === undefined || entryRevision === undefined) return undefined;
    return {
      leader: { revision: this.#revision, entry: this.#entryKey },
      termEntry: { key: keys.term, name: 'term', value: toUtf8.encode(text), revision, order: 0n },
      entry: { key: this.#entryKey, revision: entryRevision },
    };
  }

  /** The revision of the record that the store last confirmed. Undefined if it is not known. */
  get revision(): Revision | undefined {
    return this.#revision;
  }

  /**
   * Takes the revision from a record of this leadership that a watch has shown, unless it is known.
   * While it is not known, no write has changed the record.
   */
  noteSeen(record: Entry): void {
    this.#revision ??= record.revision;
  }

  /**
   * Reads the term unless its value is known, so that `remains` needs no read later. A term of
   * another revision is not of this leadership.
   */
  async lookUpTerm(call: Call): Promise<void> {
    if (this.#termText !== undefined) return;
    const term = await call((options) => this.#context.store.read(this.#keys.term, options));
    if (term?.revision === this.#termRevision) this.#termText = fromUtf8.decode(term.value);
  }

  /** True if this leadership has written the record. False if it is unreadable. */
  isMine(record: Entry): boolean {
    const read = tryRead(readLeader, record);
    return read?.entry === this.#entryKey && read.term === this.#term;
  }

  /**
   * Writes a value after the earlier writes. Retries until the outcome is certain, or `call`
   * rejects with an error that a retry does not solve.
   */
  async write(payload: Payload, how: PublishCall): Promise<PublishOutcome> {
    this.#publications += 1;
    const put = writeLeader(this.#recordOf(payload));
    const writing = Promise.resolve(this.#lastWrite).then(() => this.#untilCertain(put, how));
    this.#lastWrite = writing.catch(() => {});
    return writing;
  }

  #recordOf(payload: Payload): LeaderRecord {
    const [entry, previous, publication] = [this.#entryKey, this.#previous, this.#publications];
    return { term: this.#term, ...this.#context.self, entry, payload, previous, publication };
  }

  async #untilCertain(put: Uint8Array, { call, signal }: PublishCall): Promise<PublishOutcome> {
    for (;;) {
      const written = await this.#try(put, call);
      if (written !== 'again') return written;
      await sleep(this.#context.clock, this.#context.timing.retryEveryMs, signal);
      // The reason of the abort may be an error that a retry solves. No later try can succeed.
      signal.throwIfAborted();
    }
  }

  async #try(put: Uint8Array, call: Call): Promise<PublishOutcome | 'again'> {
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
  async #readBack(put: Uint8Array, call: Call): Promise<PublishOutcome | 'again'> {
    const [{ store }, keys] = [this.#context, this.#keys];
    const current = await call((options) => store.read(keys.leader, options)).catch(() => null);
    return current === null ? 'again' : this.#found(current, put);
  }

  /** Judges the write by the record that was read. */
  #found(current: Entry | undefined, put: Uint8Array): PublishOutcome | 'again' {
    if (current === undefined) return 'deleted';
    if (!this.isMine(current)) return 'replaced';
    this.#revision = current.revision;
    return sameBytes(current.value, put) ? 'written' : 'again';
  }
}

/** What a change of its keys tells a leader. */
export type OwnKeysNews =
  /** The leadership has ended. */
  | { readonly type: 'over'; readonly reason: 'recordDeleted' | 'recordReplaced' | 'entryDeleted' }
  /** An operator wants the leader to step down. */
  | { readonly type: 'stepDown' }
  /** An operator wants a handover to the candidate with this member id. */
  | { readonly type: 'handOver'; readonly to: string };

/** The keys of one leader. */
export class OwnKeys {
  readonly #entryWatch: KeyWatch;
  readonly #onNews: (news: OwnKeysNews) => void;
  #entryRevision: Revision | undefined;

  /** `entryWatch`: the watch on its own entry, which this object takes over. */
  constructor(entryWatch: KeyWatch, onNews: (news: OwnKeysNews) => void) {
    this.#entryWatch = entryWatch;
    this.#onNews = onNews;
  }

  /** Accepts a request that the entry contains, and those that follow. */
  begin(entry: Entry): void {
    this.#acceptRequest(entry);
    this.#entryWatch.passTo((state) => this.#seeEntry(state));
  }

  /** The revision of the entry that the watch last showed. */
  get entryRevision(): Revision | undefined {
    return this.#entryRevision;
  }

  /** Begins to watch the record that the leader has written. */
  watchRecord(key: Key, written: Pick<LeaderRecordWriter, 'isMine' | 'noteSeen' | 'revision'>): void {
    const see = (record: Entry | undefined): void => {
      if (record === undefined) this.#onNews({ type: 'over', reason: 'recordDeleted' });
      else if (written.isMine(record)) written.noteSeen(record);
      else this.#onNews({ type: 'over', reason: 'recordReplaced' });
    };
    this.#entryWatch.alsoWatch(key, see, written.revision);
  }

  /** Ends both watches. */
  end(): void {
    this.#entryWatch.end();
  }

  #seeEntry(entry: Entry | undefined): void {
    if (entry === undefined) this.#onNews({ type: 'over', reason: 'entryDeleted' });
    else this.#acceptRequest(entry);
  }

  /**
   * Does what an operator has requested in the entry. Does it once: a watch that begins again shows
   * the same entry, and by then nobody may expect the handover any more.
   */
  #acceptRequest(entry: Entry): void {
    if (entry.revision === this.#entryRevision) return;
    this.#entryRevision = entry.revision;
    const { stepDown, handTo }: Partial<CandidateRecord> = tryRead(readCandidate, entry) ?? {};
    if (stepDown === true) this.#onNews({ type: 'stepDown' });
    if (handTo !== undefined) this.#onNews({ type: 'handOver', to: handTo });
  }
}
