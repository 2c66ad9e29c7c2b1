/**
 * The disks of the servers behind the store's one address. While a disk hangs, its server takes
 * connections and requests, answers pings, and serves only some of what it is asked.
 */

import type { Servers } from '../network/link.ts';
import type { Stream } from '../time/random.ts';
import { WRITES, type StoreOperation } from './shape.ts';

/**
 * What a server with a hanging disk does not serve. `writes`: they wait for the disk; reads are served.
 * `reads`: linearizable reads wait; the other servers apply its writes, and it answers none of them
 * but renewals, which need no disk.
 */
export type HangMode = 'writes' | 'reads';

/** What becomes of a request: it is served; applied, and never answered; or it waits for the disk. */
export type Fate = 'served' | 'unanswered' | 'waits';

export interface HangOptions {
  readonly server: number;
  readonly hung: HangMode;
  /** This part of the watches on the server is told nothing. From 0 to 1. */
  readonly silentPart: number;
}

/** A watch on a server. */
interface Watch {
  readonly server: number;
  tell(): void;
}

interface Hang extends HangOptions {
  /** Watches that are told nothing. */
  readonly silent: Set<Watch>;
  readonly waiting: (() => void)[];
}

export class Disks implements Servers {
  readonly count: number;
  readonly #random: Stream;
  readonly #hangs = new Set<Hang>();
  readonly #listeners: ((server: number) => void)[] = [];

  constructor(count: number, random: Stream) {
    this.count = count;
    this.#random = random;
  }

  onHang(task: (server: number) => void): void {
    this.#listeners.push(task);
  }

  servesReads(server: number): boolean {
    return this.fateOf('read', server) === 'served';
  }

  fateOf(operation: StoreOperation, server: number): Fate {
    const fates = this.#on(server).map(({ hung }) => fateOfOperation(hung, operation));
    return fates.find((fate) => fate === 'waits') ?? fates.find((fate) => fate === 'unanswered') ?? 'served';
  }

  /** Calls back when the disk that a request waits for works again. */
  wait(server: number, task: () => void): void {
    this.#on(server)[0]?.waiting.push(task);
  }

  /** A watch begins. One that a server without reads cannot confirm is told nothing. */
  begin(watch: Watch): void {
    for (const { hung, silent, silentPart } of this.#on(watch.server))
      if (hung === 'reads' || this.#random.chance(silentPart)) silent.add(watch);
  }

  end(watch: Watch): void {
    for (const { silent } of this.#hangs) silent.delete(watch);
  }

  /** Whether a watch is told nothing now. It is told when the disk works again. */
  silences(watch: Watch): boolean {
    return this.#on(watch.server).some(({ silent }) => silent.has(watch));
  }

  /** A disk hangs until the returned function is called. `watches`: those that may go silent with it. */
  hang(options: HangOptions, watches: Iterable<Watch>): () => void {
    const { server, hung, silentPart } = options;
    const silent = [...watches].filter((watch) => watch.server === server && this.#random.chance(silentPart));
    const hang: Hang = { ...options, silent: new Set(silent), waiting: [] };
    this.#hangs.add(hang);
    if (hung === 'reads') for (const listener of this.#listeners) listener(server);
    return () => this.#repair(hang);
  }

  #on(server: number): readonly Hang[] {
    return this.#hangs.size === 0 ? [] : [...this.#hangs].filter((hang) => hang.server === server);
  }

  /** Requests that waited are served now, unless they were dropped: nobody can tell which. */
  #repair(hang: Hang): void {
    if (!this.#hangs.delete(hang)) return;
    for (const serve of hang.waiting) if (this.#random.chance(1 / 2)) serve();
    for (const watch of hang.silent) if (!this.silences(watch)) watch.tell();
  }
}

function fateOfOperation(hung: HangMode, operation: StoreOperation): Fate {
  const isWrite = WRITES.includes(operation);
  if (hung === 'writes') return isWrite ? 'waits' : 'served';
  if (operation === 'renewLease') return 'served';
  return isWrite ? 'unanswered' : 'waits';
}
