/**
 * Carries messages between one process and the store in both directions, and fails on request. Each
 * message has its own latency, so messages can overtake each other.
 */

import type { SimProcess } from '../time/process.ts';
import type { Stream } from '../time/random.ts';
import type { Scheduler } from '../time/scheduler.ts';

/** The range of the usual latencies of messages, in ms. */
export interface LatencyRange {
  readonly minMs: number;
  readonly maxMs: number;
}

/** `up`: to the store. `down`: from the store. */
export type Direction = 'up' | 'down';
/** Which directions a fault affects. */
export type Side = Direction | 'both';
/** Whether a message belongs to a call or to a watch. */
export type Traffic = 'call' | 'watch';

/** One connection of a process to one server, from its opening until the client leaves it. */
export interface Connection {
  /** Later connections of the same process have higher numbers. */
  readonly number: number;
  readonly server: number;
}

/** The servers of the store behind the one address that clients know. */
export interface Servers {
  readonly count: number;
  /**
   * Whether a server serves linearizable reads now. Clients send such a read to each server as a
   * proof that it works.
   */
  servesReads(server: number): boolean;
  /** Calls `task` whenever a server stops serving linearizable reads. */
  onHang(task: (server: number) => void): void;
}

export interface Message {
  readonly of: Traffic;
  readonly direction: Direction;
  readonly over: Connection;
  /** The message arrives. */
  readonly arrive: () => void;
  /** The message is lost, and the sender notices. */
  readonly lost?: () => void;
}

/**
 * A user of the link. The link notifies it when messages may have been lost or the connection has
 * closed.
 */
export interface LinkListener {
  /** The connection was reset, and its user knows. `refused`: no new connection can be opened. */
  reset(refused: boolean): void;
  /** The client leaves those of its connections that proved nothing for long. */
  silent(isLeft: (connection: Connection) => boolean): void;
  /** Messages arrive again. Some may have been lost. */
  healed(): void;
}

/** One message in this many takes up to this many times as long as the slowest usual one. */
const SLOW_ONE_IN = 64;
const SLOW_TIMES = 8;
/**
 * After this time without a message, or without the answer to a linearizable read, the client
 * leaves a connection. The adapters use such a read as a proof that the server works.
 */
const SILENT_AFTER_MS = 900;

export interface LinkContext {
  readonly process: SimProcess;
  readonly random: Stream;
  readonly range: LatencyRange;
  readonly servers: Servers;
}

export class Link {
  /** How many messages were lost. */
  lost = 0;
  readonly #scheduler: Scheduler;
  readonly #process: SimProcess;
  readonly #random: Stream;
  readonly #range: LatencyRange;
  readonly #listeners = new Set<LinkListener>();
  readonly #cuts: Record<Direction, number> = { up: 0, down: 0 };
  #refusals = 0;
  /** How many faults hold the messages of each kind of traffic. */
  readonly #stalls: Record<Traffic, number> = { call: 0, watch: 0 };
  readonly #stalled: Record<Traffic, (() => void)[]> = { call: [], watch: [] };
  #addedMs = 0;
  /** The ratios of the faults that lose messages now. */
  readonly #losses: number[] = [];
  #lossRatio = 0;
  #steady = false;
  readonly #servers: Servers;
  /** The servers of the next connections, in any order: each server once, then all again. */
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

  /** The connection that calls and new watches use now. */
  get connection(): Connection {
    return this.#connection;
  }

  get refusing(): boolean {
    return this.#refusals > 0;
  }

  /** The latency of a message now, one way, in ms. */
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

  /** A process that is stopped sends nothing until it continues. */
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

  /** Loses all messages until the returned function is called. */
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
   * Holds the messages of watches in both directions until the returned function is called. Clients
   * do not notice, unless `noticed` is true: then watches break off after the time that a
   * connection may be silent.
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

  /** Resets the connection once. Messages on their way to the store may still arrive. */
  reset(): void {
    this.leave(this.#connection);
    this.#tell((listener) => listener.reset(false));
  }

  /**
   * The connections that exist now deliver nothing from now on, permanently. New connections work.
   */
  silence(): void {
    const { number } = this.#connection;
    this.#silentTo = number;
    this.#scheduler.after(SILENT_AFTER_MS, () => this.#leaveAll((connection) => connection.number <= number));
  }

  /** Later calls and watches use a new connection, unless they already do. */
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

  /** Leaves the connections to a server unless it serves reads again soon. */
  #leaveUnlessServing(server: number): void {
    this.#scheduler.after(SILENT_AFTER_MS, () => {
      if (!this.#servers.servesReads(server)) this.#leaveAll((connection) => connection.server === server);
    });
  }

  /** Adds this latency to every message until the returned function is called. */
  slow(byMs: number): () => void {
    this.#addedMs += byMs;
    return () => {
      this.#addedMs -= byMs;
    };
  }

  /**
   * Loses this part of the messages, from 0 to 1, until the returned function is called. Of several
   * such faults the worst one counts.
   */
  lose(ratio: number): () => void {
    this.#losses.push(ratio);
    this.#lossRatio = Math.max(...this.#losses);
    return () => {
      this.#losses.splice(this.#losses.indexOf(ratio), 1);
      this.#lossRatio = Math.max(0, ...this.#losses);
    };
  }

  #heal(): void {
    if (!this.#isCut('up') && !this.#isCut('down')) this.#tell((listener) => listener.healed());
  }

  /** A listener is notified when its process runs. */
  #tell(what: (listener: LinkListener) => void): void {
    for (const listener of [...this.#listeners]) this.#process.run(() => what(listener));
  }
}
