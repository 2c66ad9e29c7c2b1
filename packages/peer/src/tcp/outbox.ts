/**
 * The messages that wait to be sent to one member, connected or not. It keeps only the newest
 * message of each sort, because only that one counts, and drops messages that are too old. So the
 * number of sorts that are sent within `maxAgeMs` limits its size, and it never drops a message
 * that still counts: a heartbeat replaces an earlier heartbeat, a vote only an earlier vote of the
 * same member.
 */

interface Waiting {
  readonly content: Buffer;
  readonly sinceMs: number;
}

export class Outbox {
  /** By sort, the oldest first. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #maxAgeMs: number;

  /** A message that has waited for longer than `maxAgeMs` is not sent. */
  constructor(maxAgeMs: number) {
    this.#maxAgeMs = maxAgeMs;
  }

  get size(): number {
    return this.#waiting.size;
  }

  put(sort: string, content: Buffer, nowMs: number): void {
    this.#dropExpired(nowMs);
    // Move the message to the end: it is the newest.
    this.#waiting.delete(sort);
    this.#waiting.set(sort, { content, sinceMs: nowMs });
  }

  /** Removes and returns the oldest message. Undefined: none is waiting. */
  take(nowMs: number): Buffer | undefined {
    this.#dropExpired(nowMs);
    const [oldest] = this.#waiting;
    if (oldest === undefined) return undefined;
    const [sort, { content }] = oldest;
    this.#waiting.delete(sort);
    return content;
  }

  clear(): void {
    this.#waiting.clear();
  }

  /** Each sort names its election, and a process may open new elections without end. */
  #dropExpired(nowMs: number): void {
    for (const [sort, { sinceMs }] of this.#waiting) {
      if (nowMs - sinceMs <= this.#maxAgeMs) return;
      this.#waiting.delete(sort);
    }
  }
}
