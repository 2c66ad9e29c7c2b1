/** What carries messages between one process and the store, each way, and breaks. Every message takes its own time, so any may overtake another. */

import type { SimProcess } from '../time/process.ts';
import type { Stream } from '../time/random.ts';
import type { Scheduler } from '../time/scheduler.ts';

export interface LatencyRange {
  readonly minMs: number;
  readonly maxMs: number;
}

/** `up`: to the store; `down`: from it. */
export type Direction = 'up' | 'down';
export type Side = Direction | 'both';
/** What messages are of: a call, or a watch. */
export type Traffic = 'call' | 'watch';

/** One connection of a process: to one server, from when it was made until the client leaves it. */
export interface Connection {
  /** Later connections of the same process have higher numbers. */
  readonly number: number;
  readonly server: number;
}

/** The servers of the store, as clients meet them: behind one address. */
export interface Servers {
  readonly count: number;
  /** Whether a server serves linearizable reads now. Clients ask each server for one as a proof. */
  servesReads(server: number): boolean;
  /** Calls `task` whenever a server stops serving linearizable reads. */
  onHang(task: (server: number) => void): void;
}

export interface Message {
  readonly of: Traffic;
  readonly direction: Direction;
  readonly over: Connection;
  /** It gets there. */
  readonly arrive: () => void;
  /** It never will, and that is noticed. */
  readonly lost?: () => void;
}

/** Is told when messages may have been lost, or the connection is gone. */
export interface LinkListener {
  /** The connection is gone, and whoever uses it knows. `refused`: and no other is to be had. */
  reset(refused: boolean): void;
  /** The client leaves some of its connections, as nothing was proved on them for long. */
  silent(isLeft: (connection: Connection) => boolean): void;
  /** Messages get through again, and some may have been lost. */
  healed(): void;
}

/** One message in so many takes up to so many times as long as the slowest usual one. */
const SLOW_ONE_IN = 64;
const SLOW_TIMES = 8;
/**
 * A connection is left after so long without a message, or without an answer to a linearizable read:
 * what the adapters ask for as a proof that the server works.
 */
const SILENT_AFTER_MS = 900;

export interface LinkContext {
  readonly process: SimProcess;
  readonly random: Stream;
  readonly range: LatencyRange;
  readonly servers: Servers;
}

export class Link {
  /** Messages that were swallowed. */
  lost = 0;
  readonly #scheduler: Scheduler;
  readonly #process: SimProcess;
  readonly #random: Stream;
  readonly #range: LatencyRange;
  readonly #listeners = new Set<LinkListener>();
  readonly #cuts: Record<Direction, number> = { up: 0, down: 0 };
  #refusals = 0;
  /** How many faults hold the messages of each. */
  readonly #stalls: Record<Traffic, number> = { call: 0, watch: 0 };
  readonly #stalled: Record<Traffic, (() => void)[]> = { call: [], watch: [] };
  #addedMs = 0;
  #lossRatio = 0;
  #steady = false;
  readonly #servers: Servers;
  /** Servers that the next connections go to, in any order: each of them once, then all again. */
  #next: number[] = [];
  #connection: Connection;
  /** Connections up to this number deliver nothing. */
  #silentTo = 0;

  constructor(scheduler: Scheduler, { process, random, range, servers }: LinkContext) {
    this.#scheduler = scheduler;
    this.#process = process;
    this.#random = random;
    this.#range = range;
    this.#servers = servers;
    servers.onHang((server) => this.#leaveUnlessServing(server));
    this.#connection = this.#connect(1);
  }

  /** What calls and new watches go over now. */
  get connection(): Connection {
    return this.#connection;
  }

  get refusing(): boolean {
    return this.#refusals > 0;
  }

  /** How long a message takes now, one way, in ms. */
  latencyMs(): number {
    const { minMs, maxMs } = this.#range;
    const usual = this.#random.between(minMs, maxMs);
    const slow = !this.#steady && this.#random.below(SLOW_ONE_IN) === 0 ? this.#random.below(SLOW_TIMES * maxMs) : 0;
    return usual + slow + this.#addedMs;
  }

  addListener(listener: LinkListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** From now on no message takes much longer than usual. */
  steady(): void {
    this.#steady = true;
  }

  /** A process that stands still sends nothing until it goes on. */
  send(message: Message): void {
    if (message.direction === 'up') this.#process.run(() => this.#send(message));
    else this.#send(message);
  }

  #send({ of, direction, over, arrive, lost = () => {} }: Message): void {
    if (this.#swallows(direction, over)) return this.#swallow();
    const latencyMs = this.latencyMs();
    if (this.#random.chance(this.#lossRatio)) {
      this.lost += 1;
      this.#scheduler.after(latencyMs, () => this.#process.run(lost));
      return;
    }
    const land = (): void => {
      if (this.#swallows(direction, over)) this.#swallow();
      else if (this.#stalls[of] > 0) this.#stalled[of].push(land);
      else if (direction === 'up') arrive();
      else this.#process.run(arrive);
    };
    this.#scheduler.after(latencyMs, land);
  }

  #swallow(): void {
    this.lost += 1;
  }

  #swallows(direction: Direction, over: Connection): boolean {
    return this.#isCut(direction) || over.number <= this.#silentTo;
  }

  #isCut(direction: Direction): boolean {
    return this.#refusals > 0 || this.#cuts[direction] > 0;
  }

  /** Swallows messages until the returned function is called. */
  cut(side: Side): () => void {
    const directions: readonly Direction[] = side === 'both' ? ['up', 'down'] : [side];
    for (const direction of directions) this.#cuts[direction] += 1;
    const silent = this.#scheduler.after(SILENT_AFTER_MS, () => this.#leaveAll(() => true));
    return () => {
      silent.task = undefined;
      for (const direction of directions) this.#cuts[direction] -= 1;
      this.#heal();
    };
  }

  /** Resets the connection, and refuses new ones until the returned function is called. */
  refuse(): () => void {
    this.#refusals += 1;
    this.leave(this.#connection);
    this.#tell((listener) => listener.reset(true));
    return () => {
      this.#refusals -= 1;
      this.#heal();
    };
  }

  /** Holds every message, both ways, until the returned function is called. */
  stall(): () => void {
    const repairs = [this.#hold('call'), this.#hold('watch')];
    return () => {
      for (const repair of repairs) repair();
    };
  }

  /**
   * Holds the messages of watches, both ways, until the returned function is called. Nobody notices,
   * unless `noticed`: then watches break off when nothing has come for as long as a connection may be silent.
   */
  stallWatches({ noticed = false }: { readonly noticed?: boolean } = {}): () => void {
    const repair = this.#hold('watch');
    if (!noticed) return repair;
    const silent = this.#scheduler.after(SILENT_AFTER_MS, () => this.#tell((listener) => listener.silent(() => true)));
    return () => {
      silent.task = undefined;
      repair();
    };
  }

  #hold(of: Traffic): () => void {
    this.#stalls[of] += 1;
    return () => {
      this.#stalls[of] -= 1;
      if (this.#stalls[of] > 0) return;
      for (const land of this.#stalled[of].splice(0)) this.#scheduler.after(this.#random.below(3), land);
    };
  }

  /** Resets the connection once. What was on its way to the store may still arrive. */
  reset(): void {
    this.leave(this.#connection);
    this.#tell((listener) => listener.reset(false));
  }

  /** The connections that exist now deliver nothing from now on, for good. New ones do. */
  silence(): void {
    const { number } = this.#connection;
    this.#silentTo = number;
    this.#scheduler.after(SILENT_AFTER_MS, () => this.#leaveAll((connection) => connection.number <= number));
  }

  /** Later calls and watches go over a new connection, unless they do so already. */
  leave(connection: Connection): void {
    if (connection === this.#connection) this.#connection = this.#connect(connection.number + 1);
  }

  #leaveAll(isLeft: (connection: Connection) => boolean): void {
    if (isLeft(this.#connection)) this.leave(this.#connection);
    this.#tell((listener) => listener.silent(isLeft));
  }

  /** At most two connections in a row go to the same one of several servers. */
  #connect(number: number): Connection {
    if (this.#next.length === 0) this.#next = Array.from({ length: this.#servers.count }, (_, server) => server);
    const [server = 0] = this.#next.splice(this.#next.length === 1 ? 0 : this.#random.below(this.#next.length), 1);
    if (!this.#servers.servesReads(server)) this.#leaveUnlessServing(server);
    return { number, server };
  }

  /** Leaves the connections to a server unless it serves reads again in time. */
  #leaveUnlessServing(server: number): void {
    this.#scheduler.after(SILENT_AFTER_MS, () => {
      if (!this.#servers.servesReads(server)) this.#leaveAll((connection) => connection.server === server);
    });
  }

  /** Makes every message take so much longer until the returned function is called. */
  slow(byMs: number): () => void {
    this.#addedMs += byMs;
    return () => {
      this.#addedMs -= byMs;
    };
  }

  /** Loses this part of the messages until the returned function is called. */
  lose(ratio: number): () => void {
    const before = this.#lossRatio;
    this.#lossRatio = Math.max(before, ratio);
    return () => {
      this.#lossRatio = 0;
    };
  }

  #heal(): void {
    if (!this.#isCut('up') && !this.#isCut('down')) this.#tell((listener) => listener.healed());
  }

  /** Whoever hears of it does so when its process runs. */
  #tell(what: (listener: LinkListener) => void): void {
    for (const listener of [...this.#listeners]) this.#process.run(() => what(listener));
  }
}
