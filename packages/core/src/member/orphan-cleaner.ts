/**
 * What a member left in the store and nobody follows up any more: an enqueue or a join whose caller gave up may still be applied, a withdrawal may
 * have been refused. Such a key stands in others' way for as long as the lease lives, so it is looked for at growing intervals while the session does.
 */

import type { Clock } from '../base/clock.ts';
import type { Session } from '../lease/session.ts';
import type { Telemetry } from '../base/telemetry.ts';
import type { Timing } from '../lease/timing.ts';
import { onAbort } from '../async/abort.ts';
import { sleep } from '../async/sleep.ts';

export interface GhostsContext {
  readonly clock: Clock;
  readonly timing: Timing;
  readonly telemetry: Telemetry;
}

/** Looks for what is left, and removes it. Rejects when it could not. */
export type Look = (session: Session) => Promise<void>;

const FIRST_LOOK_TTLS = 0.5;
const LAST_LOOK_TTLS = 32;

export class Ghosts {
  readonly #context: GhostsContext;
  readonly #closed = new AbortController();
  /** One hunt for each place, however many ghosts it may have. */
  readonly #hunts = new Map<string, AbortController>();
  readonly #under = new Set<Promise<void>>();

  constructor(context: GhostsContext) {
    this.#context = context;
  }

  /** Looks at once, and again until the session ends. A hunt at the same place begins anew. */
  hunt(place: string, session: Session, look: Look): void {
    if (this.#closed.signal.aborted) return;
    this.#hunts.get(place)?.abort();
    const over = new AbortController();
    this.#hunts.set(place, over);
    const stops = [onAbort(this.#closed.signal, () => over.abort()), session.onEnd(() => over.abort())];
    const hunting = this.#hunt(session, look, over.signal).finally(() => {
      for (const stop of stops) stop();
      this.#under.delete(hunting);
      if (this.#hunts.get(place) === over) this.#hunts.delete(place);
    });
    this.#under.add(hunting);
  }

  /** Ends all hunts; resolves when none has a call under way. */
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all(this.#under);
  }

  async #hunt(session: Session, look: Look, over: AbortSignal): Promise<void> {
    const { clock, timing, telemetry } = this.#context;
    for (let ttls = FIRST_LOOK_TTLS; !over.aborted; ttls = Math.min(2 * ttls, LAST_LOOK_TTLS)) {
      try {
        await look(session);
      } catch (error) {
        telemetry.emit('retry', { doing: 'removing what was left', error });
      }
      if (!over.aborted) await sleep(clock, ttls * timing.ttlMs, over);
    }
  }
}
