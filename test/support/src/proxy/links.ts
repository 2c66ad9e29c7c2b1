import type { Socket } from 'node:net';

import { connectTo, Link, type LinkWatcher, type Target } from './link.ts';
import { DROP_ALL, PASS_ALL, type Rules } from './rules.ts';
import type { Trap } from './trap.ts';

/** Bytes of one direction: delivered, and lost. */
export interface FlowStats {
  readonly passed: number;
  readonly dropped: number;
}

/**
 * The connections through one proxy, the rules for new ones, and the traps that wait for one of
 * them.
 */
export class Links implements LinkWatcher {
  readonly open = new Set<Link>();
  readonly traps = new Set<Trap>();
  opened = 0;
  /** Whether the connection is silent from this request on. */
  isSilenced: ((request: string) => boolean) | undefined;
  rules: Rules = PASS_ALL;
  readonly #target: Target;
  readonly #past = { requests: noBytes, replies: noBytes };

  constructor(target: Target) {
    this.#target = target;
  }

  /** Connects a client to the target. Uses `server` if that connection exists already. */
  add(client: Socket, server: Socket = connectTo(this.#target)): void {
    this.opened += 1;
    const link = new Link(client, server, this.rules, this);
    this.open.add(link);
    void this.#forgetWhenClosed(link);
  }

  onRequest(link: Link, bytes: number): void {
    if (this.isSilenced?.(link.lastRequest) === true) link.setRules(DROP_ALL);
    for (const trap of this.traps) if (trap.onRequest(link, bytes)) return;
  }

  onReply(link: Link): void {
    for (const trap of this.traps) trap.onReply(link);
  }

  stats(direction: 'requests' | 'replies'): FlowStats {
    return [...this.open].reduce((sum, link) => plus(sum, link[direction]), this.#past[direction]);
  }

  async #forgetWhenClosed(link: Link): Promise<void> {
    await link.closed;
    this.open.delete(link);
    this.#past.requests = plus(this.#past.requests, link.requests);
    this.#past.replies = plus(this.#past.replies, link.replies);
    for (const trap of this.traps) trap.onClosed(link);
  }
}

const noBytes: FlowStats = { passed: 0, dropped: 0 };

function plus(a: FlowStats, b: FlowStats): FlowStats {
  return { passed: a.passed + b.passed, dropped: a.dropped + b.dropped };
}
