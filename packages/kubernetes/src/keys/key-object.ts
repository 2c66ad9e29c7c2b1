/**
 * The object that holds all keys of a store. A change is one PUT that the server applies only if
 * the object is still the one that the change was computed from, so changes of any number of keys
 * are atomic. Calls of one process that wait at the same time share a PUT.
 */

import type { Clock } from '@incumbent/core';
import { Backoff, sleep, systemRandom } from '@incumbent/core/adapter';
import { type Attempt, type AttemptOptions, ReadBatcher, tooLarge } from '@incumbent/network';

import type { Client, Response } from '../client/client.ts';
import { ExchangeError } from '../client/failure.ts';
import { isOfOneChange, wentBack } from '../errors.ts';
import { MAX_DATA_BYTES } from '../limits.ts';
import { keysName, keysPath, LABEL, type Names } from '../names.ts';
import type { Fields } from '../objects/json.ts';
import { KeysReader } from './codec.ts';
import { Draft, type Progress, Snapshot } from './snapshot.ts';

/** What a change did to a draft. */
interface Applied<T> {
  readonly result: T;
  /** Whether the result is only true of a state that is no older than the call. */
  readonly needsFresh: boolean;
}

/**
 * Applies the changes of one call to a draft, unless the draft does not allow them. May be called
 * again with another draft.
 */
export type Change<T> = (draft: Draft) => Applied<T>;

/**
 * The first pause after another process has changed the object meanwhile is as long as the refused
 * attempt took, so that it suits slow servers and busy machines, too. These are its bounds, in ms.
 */
const LEAST_PAUSE_MS = 4;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Further reads share the next request. It is more than one, so that a request without an answer
 * does not hold up all others.
 */
const MAX_READS_UNDER_WAY = 4;

const CONFLICT = 409;
const ABSENT = 404;

interface Pending {
  readonly attempt: Attempt;
  readonly timeoutMs: number;
  /** Applies the change, and returns what settles its call when the draft is the object's state. */
  readonly apply: (draft: Draft) => { readonly settle: () => void; readonly needsFresh: boolean };
  readonly reject: (error: unknown) => void;
}

export class KeyObject {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #names: Names;
  readonly #reads: ReadBatcher<undefined, Snapshot>;
  readonly #reader = new KeysReader();
  readonly #pending: Pending[] = [];
  #isRunning = false;
  /** The latest known state. Undefined while a change is under way, and after a failed change. */
  #latest: Snapshot | undefined;
  /** The furthest that the object was ever seen. */
  #furthest: Progress | undefined;

  constructor(client: Client, clock: Clock, names: Names) {
    this.#client = client;
    this.#clock = clock;
    this.#names = names;
    this.#reads = new ReadBatcher({
      clock,
      ErrorType: ExchangeError,
      maxReads: Number.MAX_SAFE_INTEGER,
      maxRequests: MAX_READS_UNDER_WAY,
      isOfOneRead: () => false,
      send: async ({ requests, options, unwanted, markSent }) => {
        const snapshot = await this.#get({ ...options, signal: unwanted }, markSent);
        return requests.map(() => snapshot);
      },
    });
  }

  /** The state now. Reads that begin at the same time share a request. */
  read(options: AttemptOptions): Promise<Snapshot> {
    return this.#reads.read(undefined, options);
  }

  /**
   * Takes the object as a watch has shown it. Changes begin with the latest state that is known.
   * Returns the state, as the same `Snapshot` as before if it is the same state.
   */
  saw(object: Fields): Snapshot {
    const snapshot = Snapshot.of(object, this.#reader);
    const known = this.#latest;
    if (known !== undefined && known.isSame(snapshot)) return known;
    // A state before the object existed has no version to begin with.
    if (snapshot.identity !== undefined) this.#remember(snapshot);
    return snapshot;
  }

  /** Resolves with the result of the change when the object has it. */
  change<T>(change: Change<T>, options: AttemptOptions): Promise<T> {
    return this.#client.calls.run(options, (attempt) => {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      // Nobody listens once the attempt has ended.
      promise.catch(() => {});
      const apply: Pending['apply'] = (draft) => {
        const { result, needsFresh } = change(draft);
        return { settle: () => resolve(result), needsFresh };
      };
      this.#pending.push({ attempt, timeoutMs: options.timeoutMs, apply, reject });
      if (!this.#isRunning) void this.#run();
      return attempt.wait(promise);
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Calls that begin in one turn of the event loop share the first PUT, too.
    await Promise.resolve();
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0).filter(isWanted);
      if (batch.length > 0) await this.#runBatch(batch);
    }
    this.#isRunning = false;
  }

  async #runBatch(batch: readonly Pending[]): Promise<void> {
    const over = new AbortController();
    // A timeout of the last call to end is a timeout of the request, too.
    const stopWhenUnwanted = (event: Event): void => {
      if (!batch.some(isWanted) && event.target instanceof AbortSignal) over.abort(event.target.reason);
    };
    for (const { attempt } of batch) attempt.signal.addEventListener('abort', stopWhenUnwanted, { once: true });
    const timeoutMs = Math.max(...batch.map((one) => one.timeoutMs));
    try {
      await this.#applyAll(batch, { timeoutMs, signal: over.signal, background: true });
    } catch (error) {
      if (batch.length > 1 && isOfOneChange(error)) return await this.#runEach(batch);
      for (const { reject } of batch) reject(error);
    } finally {
      for (const { attempt } of batch) attempt.signal.removeEventListener('abort', stopWhenUnwanted);
    }
  }

  /** One after the other, so that a change that the server refuses ends its own call only. */
  async #runEach(batch: readonly Pending[]): Promise<void> {
    for (const one of batch) if (isWanted(one)) await this.#runBatch([one]);
  }

  async #applyAll(batch: readonly Pending[], options: AttemptOptions): Promise<void> {
    let backoff: Backoff | undefined;
    const beganMs = this.#clock.monotonic();
    let snapshot = this.#latest;
    let isFresh = false;
    for (;;) {
      if (snapshot === undefined) {
        // The read counts as sent, although it changes nothing: a call that times out during the
        // read is then `unknown`.
        snapshot = await this.#get(options, () => markAll(batch, true));
        isFresh = true;
      }
      const draft = new Draft(snapshot);
      const wanted = batch.filter(isWanted);
      const applied = wanted.flatMap((one) => appliedTo(draft, one));
      // A result that changes nothing is true of the state that was read, which must be new enough.
      const changesNothing = !draft.isChanged && applied.length > 0;
      if (!isFresh && (changesNothing || applied.some(({ needsFresh }) => needsFresh))) {
        snapshot = undefined;
        continue;
      }
      if (!draft.isChanged) {
        for (const { settle } of applied) settle();
        return;
      }
      const written = await this.#write(snapshot, draft, wanted, options);
      if (written !== undefined) {
        for (const { settle } of applied) settle();
        return;
      }
      backoff ??= new Backoff(systemRandom, Math.max(this.#clock.monotonic() - beganMs, LEAST_PAUSE_MS), LONGEST_PAUSE_MS);
      await sleep(this.#clock, backoff.next(), options.signal);
      options.signal?.throwIfAborted();
      // A watch may have shown a later state meanwhile.
      snapshot = this.#latest;
      isFresh = false;
    }
  }

  /** Undefined if another process has changed the object meanwhile. Nothing was applied then. */
  async #write(base: Snapshot, draft: Draft, batch: readonly Pending[], options: AttemptOptions): Promise<Snapshot | undefined> {
    const data = draft.data();
    checkSize(data, base.data);
    this.#latest = undefined;
    // A call may end while the request waits for a connection. The request goes on for the other
    // calls, and applies the changes of that call too.
    if (batch.length > 1) markAll(batch, true);
    const { status, body } = await this.#send(base, data, options, () => markAll(batch, true));
    if (status === CONFLICT || status === ABSENT) {
      markAll(batch, false);
      return undefined;
    }
    const snapshot = Snapshot.of(body, this.#reader);
    this.#remember(snapshot);
    return snapshot;
  }

  #send(base: Snapshot, data: Readonly<Record<string, string>>, options: AttemptOptions, onSent: () => void): Promise<Response> {
    const path = keysPath(this.#names);
    const name = keysName(this.#names);
    const accept = [CONFLICT, ABSENT];
    const { apiVersion, kind } = this.#names.keys;
    if (base.identity !== undefined)
      return this.#client.request(
        { method: 'PUT', path: `${path}/${name}`, body: { ...base.objectWith(data), apiVersion, kind }, accept },
        options,
        onSent,
      );
    const metadata = { name, labels: { [LABEL]: this.#names.prefix } };
    // 404 in answer to a POST is not about this object, but about its namespace or resource.
    return this.#client.request({ method: 'POST', path, body: { apiVersion, kind, metadata, data }, accept: [CONFLICT] }, options, onSent);
  }

  async #get(options: AttemptOptions, onSent: () => void): Promise<Snapshot> {
    const [before, furthest] = [this.#latest, this.#furthest];
    const path = `${keysPath(this.#names)}/${keysName(this.#names)}`;
    const { status, body } = await this.#client.request({ method: 'GET', path, accept: [ABSENT] }, options, onSent);
    const snapshot = status === ABSENT ? Snapshot.absent() : Snapshot.of(body, this.#reader);
    if (before?.isSame(snapshot) === true) return before;
    if (furthest !== undefined && !snapshot.isAtLeast(furthest)) throw wentBack(furthest.count, snapshot.count);
    this.#remember(snapshot);
    return snapshot;
  }

  #remember(snapshot: Snapshot): void {
    if (this.#furthest !== undefined && !snapshot.isAtLeast(this.#furthest)) return;
    this.#latest = snapshot;
    const { counter, count } = snapshot;
    if (counter !== undefined) this.#furthest = { counter, count };
  }
}

/** A change that cannot be applied ends its own call only. */
function appliedTo(draft: Draft, { apply, reject }: Pending): readonly ReturnType<Pending['apply']>[] {
  try {
    return [apply(draft)];
  } catch (error) {
    reject(error);
    return [];
  }
}

function markAll(batch: readonly Pending[], isSent: boolean): void {
  for (const { attempt } of batch) attempt.sent = isSent;
}

function isWanted({ attempt }: Pending): boolean {
  return !attempt.signal.aborted;
}

/** What counts towards the limit, in bytes: the names and texts of `data`. */
export function sizeOf(data: Readonly<Record<string, string>>): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(data)) bytes += name.length + Buffer.byteLength(value);
  return bytes;
}

/** A change that makes the object smaller is never too large: somebody else may have filled it. */
function checkSize(data: Readonly<Record<string, string>>, before: Readonly<Record<string, string>>): void {
  const bytes = sizeOf(data);
  if (bytes > MAX_DATA_BYTES && bytes > sizeOf(before))
    throw tooLarge('kubernetes', `all keys together would take ${bytes} bytes, of ${MAX_DATA_BYTES}`);
}
