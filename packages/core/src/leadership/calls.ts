/** The calls of one leadership. */

import { checkSignal, type SignalOptions } from '../async/abort.ts';
import type { LeaseSession, SessionContext } from '../lease/session.ts';
import type { CallOptions, Entry, Key, ListOptions } from '../store/contract.ts';

/** Which entries of a queue to list: all, or the first ones. */
type QueuePart = Pick<ListOptions, 'first'>;

/** Makes the calls of one leadership, and keeps their errors, which may explain its end. */
export class LeaderCalls {
  readonly #context: SessionContext;
  readonly #session: LeaseSession;
  readonly #leadership: { assertValid(): void };

  constructor(context: SessionContext, session: LeaseSession, leadership: { assertValid(): void }) {
    this.#context = context;
    this.#session = session;
    this.#leadership = leadership;
  }

  /** Makes one call to the store. Throws `LEADERSHIP_ENDED` instead if `isValid()` is false. */
  async make<T>(task: (options: CallOptions) => Promise<T>, options: SignalOptions): Promise<T> {
    const signal = checkSignal(options);
    this.#leadership.assertValid();
    const timeoutMs = this.#context.timing.callTimeoutMs;
    try {
      return await task({ timeoutMs, signal });
    } catch (error) {
      // An aborted call says nothing about the store.
      if (signal?.aborted !== true) this.#session.keepError(error);
      throw error;
    }
  }

  /**
   * Lists entries while the leadership is valid. Throws `LEADERSHIP_ENDED` if it ends meanwhile.
   */
  async list(prefix: Key, part: QueuePart, options: SignalOptions): Promise<readonly Entry[]> {
    const own = options.signal === undefined ? { signal: this.#session.call.signal } : options;
    try {
      return await this.make((call) => this.#context.store.list(prefix, { ...call, ...part }), own);
    } catch (error) {
      if (options.signal?.aborted !== true) this.#leadership.assertValid();
      throw error;
    }
  }

  /** Lists entries after the end of the leadership, while its session lives. */
  listAfterEnd(prefix: Key, part: QueuePart): Promise<readonly Entry[]> {
    return this.#context.store.list(prefix, { ...this.#session.call, ...part });
  }
}
