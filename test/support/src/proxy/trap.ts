import { setTimeout as sleep } from 'node:timers/promises';

import type { Link } from './link.ts';
import { DROP, PASS } from './rules.ts';

export interface TrapOptions {
  /** How many bytes a client must send before its connection is caught; 1 by default. */
  readonly afterRequestBytes?: number;
  /** How long after the first byte of the reply the connection is reset, in ms; 50 by default. */
  readonly resetAfterMs?: number;
}

/**
 * Waits for a request, swallows the reply to it, and resets the connection: the request was served
 * and its client never learns it.
 */
export class Trap {
  /**
   * True when it caught a reply, and the connection is reset; false when it was given up before.
   */
  readonly sprung: Promise<boolean>;
  readonly #afterRequestBytes: number;
  readonly #resetAfterMs: number;
  readonly #settle: (sprung: boolean) => void;
  readonly #sent = new Map<Link, number>();
  #caught: Link | undefined;
  #replied = false;

  constructor({ afterRequestBytes = 1, resetAfterMs = 50 }: TrapOptions) {
    this.#afterRequestBytes = afterRequestBytes;
    this.#resetAfterMs = resetAfterMs;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.sprung = promise;
    this.#settle = resolve;
  }

  /** True when these bytes belong to this trap alone. */
  onRequest(link: Link, bytes: number): boolean {
    if (this.#caught !== undefined) return this.#caught === link;
    const sent = (this.#sent.get(link) ?? 0) + bytes;
    this.#sent.set(link, sent);
    if (sent < this.#afterRequestBytes) return false;
    this.#caught = link;
    this.#sent.clear();
    link.replies.setRule(DROP);
    return true;
  }

  onReply(link: Link): void {
    if (link !== this.#caught || this.#replied) return;
    this.#replied = true;
    void this.#spring(link);
  }

  /**
   * The connection closed by itself: a trap that had caught it, but no reply, waits for another
   * one.
   */
  onClosed(link: Link): void {
    this.#sent.delete(link);
    if (link === this.#caught && !this.#replied) this.#caught = undefined;
  }

  abort(): void {
    if (!this.#replied) this.#caught?.replies.setRule(PASS);
    this.#caught = undefined;
    this.#settle(false);
  }

  async #spring(link: Link): Promise<void> {
    await sleep(this.#resetAfterMs);
    link.reset();
    await link.closed;
    this.#settle(true);
  }
}
