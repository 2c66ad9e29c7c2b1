/**
 * What waits to be sent to one member, connected or not: of each sort the newest alone, as only
 * that counts. So it is bounded by how many sorts there are, and nothing that still counts is ever
 * dropped for want of room: a heartbeat makes way for the next one, a vote only for a later vote of
 * the same member.
 */

interface Waiting {
  readonly content: Buffer;
  readonly sinceMs: number;
}

export class Outbox {
  readonly #waiting = new Map<string, Waiting>();
  readonly #maxAgeMs: number;

  /** What has waited for longer than `maxAgeMs` is not sent any more. */
  constructor(maxAgeMs: number) {
    this.#maxAgeMs = maxAgeMs;
  }

  get size(): number {
    return this.#waiting.size;
  }

  put(sort: string, content: Buffer, nowMs: number): void {
    // To the end: it is said now.
    this.#waiting.delete(sort);
    this.#waiting.set(sort, { content, sinceMs: nowMs });
  }

  /** The oldest; undefined: nothing waits. */
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
