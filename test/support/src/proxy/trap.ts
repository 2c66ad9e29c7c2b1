import { setTimeout as sleep } from 'node:timers/promises';

import type { Link } from './link.ts';
import { DROP, PASS } from './rules.ts';

export interface TrapOptions {
  /** How many bytes a client must send before its connection is caught. Default 1. */
  readonly afterRequestBytes?: number;
  /** How long after the first byte of the reply the connection is reset, in ms. Default 50. */
  readonly resetAfterMs?: number;
}

/**
 * Waits for a request, discards the reply to it, and resets the connection. The request was served,
 * and its client does not learn it.
 */
export class Trap {
  /** True when it has caught a reply and reset the connection. False when it was aborted before. */
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

  /** Whether these bytes belong to this trap only. */
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
   * The connection closed by itself. A trap that had caught it without a reply waits for another
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
