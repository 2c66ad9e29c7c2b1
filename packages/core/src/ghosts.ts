/**
 * Entries that this member may have made and does not campaign with: an enqueue whose caller gave up may still be applied. Such an entry stands
 * in others' way until its lease ends, so it is looked for, and removed, at growing intervals while the session lives.
 */

import type { Session, SessionContext } from './session.ts';
import type { Key } from './store.ts';
import { sleep } from './waits.ts';

const FIRST_LOOK_TTLS = 0.5;
const LAST_LOOK_TTLS = 32;

export class Ghosts {
  readonly #context: SessionContext;
  readonly #closed = new AbortController();

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /** Looks for the entry of this name until the session ends. */
  async hunt(session: Session, prefix: Key, name: string): Promise<void> {
    const { clock, timing } = this.#context;
    const over = this.#closed.signal;
    for (let ttls = FIRST_LOOK_TTLS; ; ttls = Math.min(2 * ttls, LAST_LOOK_TTLS)) {
      await sleep(clock, ttls * timing.ttlMs, over);
      if (over.aborted || !session.isValid()) return;
      await this.#remove(session, prefix, name);
    }
  }

  close(): void {
    this.#closed.abort();
  }

  async #remove(session: Session, prefix: Key, name: string): Promise<void> {
    const { store, timing, telemetry } = this.#context;
    const options = { timeoutMs: timing.callTimeoutMs };
    try {
      const entries = await store.list(prefix, { ...options, values: false });
      const ghost = entries.find((entry) => entry.name === name && entry.lease === session.lease);
      if (ghost !== undefined) await store.compareAndSwap([{ key: ghost.key, expect: ghost.revision, delete: true }], options);
    } catch (error) {
      telemetry.emit('retry', { doing: 'removing an abandoned entry', name, error });
    }
  }
}
