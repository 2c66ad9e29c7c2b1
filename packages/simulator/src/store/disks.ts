/**
 * The disks of the servers behind the store's one address. While a disk hangs, its server accepts
 * connections and requests and answers pings, but serves only some requests.
 */

import type { Servers } from '../network/link.ts';
import type { Stream } from '../time/random.ts';
import { WRITES, type StoreOperation } from './shape.ts';

/**
 * What a server with a hung disk does not serve. `writes`: they wait for the disk, and reads are
 * served. `reads`: linearizable reads wait. The other servers apply the writes that this server
 * receives. It answers none of them except renewals, which need no disk.
 */
export type HangMode = 'writes' | 'reads';

/**
 * What happens to a request: the server serves it, applies it without answering, or lets it wait
 * for the disk.
 */
export type Fate = 'served' | 'unanswered' | 'waits';

export interface HangOptions {
  readonly server: number;
  readonly hung: HangMode;
  /** The part of the watches on the server that report nothing, from 0 to 1. */
  readonly silentPart: number;
}

/** A watch on a server. */
interface Watch {
  readonly server: number;
  tell(): void;
}

interface Hang extends HangOptions {
  /** Watches that report nothing. */
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

  /** Calls `task` when the disk that the request waits for works again. */
  wait(server: number, task: () => void): void {
    this.#on(server)[0]?.waiting.push(task);
  }

  /**
   * A watch begins. It reports nothing if its server cannot confirm it because it serves no reads.
   */
  begin(watch: Watch): void {
    for (const { hung, silent, silentPart } of this.#on(watch.server))
      if (hung === 'reads' || this.#random.chance(silentPart)) silent.add(watch);
  }

  end(watch: Watch): void {
    for (const { silent } of this.#hangs) silent.delete(watch);
  }

  /** Whether a watch reports nothing now. It reports the state when the disk works again. */
  silences(watch: Watch): boolean {
    return this.#on(watch.server).some(({ silent }) => silent.has(watch));
  }

  /**
   * Makes a disk hang until the returned function is called. `watches`: those that may go silent
   * with it.
   */
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

  /** Serves the requests that waited, except those that were dropped. Clients cannot tell which. */
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
