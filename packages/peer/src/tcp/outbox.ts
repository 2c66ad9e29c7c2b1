/**
 * The messages that wait to be sent to one member, connected or not. It keeps only the newest
 * message of each sort, because only that one counts. So the number of sorts limits its size, and
 * it never drops a message that still counts: a heartbeat replaces an earlier heartbeat, a vote
 * only an earlier vote of the same member.
 */

interface Waiting {
  readonly content: Buffer;
  readonly sinceMs: number;
}

export class Outbox {
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
    // Move the message to the end: it is the newest.
    this.#waiting.delete(sort);
    this.#waiting.set(sort, { content, sinceMs: nowMs });
  }

  /** Removes and returns the oldest message. Undefined: none is waiting. */
  take(nowMs: number): Buffer | undefined {
    for (const [sort, { content, sinceMs }] of this.#waiting) {
      this.#waiting.delete(sort);
      if (nowMs - sinceMs <= this.#maxAgeMs) return content;
    }
    return undefined;
  }

  clear(): void {
    this.#waiting.clear();
  }
}
