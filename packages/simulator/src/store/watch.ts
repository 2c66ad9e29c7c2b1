/**
 * One watch, from the store to whoever reads it. It lags, coalesces and repeats; it breaks off, is noticed to have, and begins again by reading: so it may
 * skip states, but never the latest.
 */

import { StoreError, type Cancel, type Key } from '@incumbent/core';
import type { WatchController } from '@incumbent/core/adapter';
import type { Connection, Link, LinkListener } from '../network/link.ts';
import type { SimProcess } from '../time/process.ts';
import type { Stream } from '../time/random.ts';
import type { SimServer, Subscription } from './server.ts';

/** Before a watch that broke off is tried again, in ms. */
const RETRY_MS = { min: 20, max: 250 } as const;

export interface SimWatchContext {
  readonly process: SimProcess;
  readonly link: Link;
  readonly server: SimServer;
  readonly random: Stream;
  readonly after: (delayMs: number, task: () => void) => void;
}

/** What is watched. */
export interface Source<T> {
  matches(key: Key): boolean;
  /** The state now. */
  look(): T;
}

export class SimWatch<S> implements LinkListener {
  readonly #context: SimWatchContext;
  readonly #source: Source<S>;
  readonly #watch: WatchController<S>;
  /** What an earlier opening sends does not count. */
  #opening = 0;
  /** What the latest opening went over. */
  #over: Connection;
  #unsubscribe: () => void = () => {};
  #cancelRetry: () => void = () => {};
  #ended = false;

  constructor(context: SimWatchContext, source: Source<S>, watch: WatchController<S>) {
    this.#context = context;
    this.#source = source;
    this.#watch = watch;
    this.#over = context.link.connection;
  }

  start(): Cancel {
    const removeListener = this.#context.link.addListener(this);
    if (this.#context.link.refusing) this.#breakOff('the connection was refused');
    else this.#open();
    return () => {
      this.#ended = true;
      this.#drop();
      removeListener();
    };
  }

  /** Its store is closed, or may not watch any more. */
  fail(error: StoreError): void {
    this.#watch.fail(error);
  }

  /** Its process is dead. */
  abandon(): void {
    this.#unsubscribe();
  }

  reset(): void {
    this.#breakOff('the connection was reset');
  }

  silent(isLeft: (connection: Connection) => boolean): void {
    if (isLeft(this.#over)) this.#breakOff('the server has proved nothing for long');
  }

  healed(): void {
    this.#open();
  }

  #open(): void {
    // Whoever told of the link may have done so while the process stood still.
    if (this.#ended) return;
    this.#drop();
    const opening = this.#opening;
    const { link } = this.#context;
    this.#over = link.connection;
    const lost = (): void => this.#lost(opening);
    link.send({ of: 'watch', direction: 'up', over: this.#over, arrive: () => this.#begin(opening), lost });
  }

  /** At the store: tells the state now, and after every change. */
  #begin(opening: number): void {
    const { server, process } = this.#context;
    if (opening !== this.#opening || process.state === 'dead') return;
    if (server.isDown) return this.#tellDropped(opening);
    const sender = new Sender(this.#context, this.#source, {
      over: this.#over,
      arrive: (state) => this.#receive(opening, state),
      lost: () => this.#lost(opening),
    });
    const subscription: Subscription = {
      server: this.#over.server,
      matches: (key) => this.#source.matches(key),
      tell: () => sender.changed(),
      drop: (denied) => (denied ? this.#tellDenied(opening) : this.#tellDropped(opening)),
    };
    this.#unsubscribe = server.subscribe(subscription);
    if (!server.disks.silences(subscription)) sender.now();
  }

  #tellDropped(opening: number): void {
    const lost = (): void => this.#lost(opening);
    this.#context.link.send({ of: 'watch', direction: 'down', over: this.#over, arrive: lost, lost });
  }

  #tellDenied(opening: number): void {
    const denied = new StoreError('PERMISSION_DENIED', 'refused', 'this may not be watched');
    const arrive = (): void => (opening === this.#opening ? this.fail(denied) : undefined);
    this.#context.link.send({ of: 'watch', direction: 'down', over: this.#over, arrive, lost: () => this.#lost(opening) });
  }

  #receive(opening: number, state: S): void {
    if (opening === this.#opening) this.#watch.show(state);
  }

  /** A lost message takes the connection with it, as it would on a stream. */
  #lost(opening: number): void {
    if (opening === this.#opening) this.#breakOff('a message of the watch was lost');
  }

  #breakOff(why: string): void {
    if (this.#ended) return;
    this.#drop();
    const { random } = this.#context;
    const retry = (): void => (this.#context.link.refusing ? this.#again(random.between(RETRY_MS.min, RETRY_MS.max), retry) : this.#open());
    this.#again(random.between(RETRY_MS.min, RETRY_MS.max), retry);
    this.#watch.lose(new StoreError('CONNECTION_LOST', 'unknown', why));
  }

  #again(delayMs: number, retry: () => void): void {
    this.#cancelRetry();
    this.#cancelRetry = this.#context.process.schedule(delayMs, retry);
  }

  #drop(): void {
    this.#opening += 1;
    this.#unsubscribe();
    this.#unsubscribe = () => {};
    this.#cancelRetry();
    this.#cancelRetry = () => {};
  }
}

interface Receiver<T> {
  readonly over: Connection;
  readonly arrive: (state: T) => void;
  readonly lost: () => void;
}

/** The store's end of one opening of a watch. */
class Sender<T> {
  readonly #context: SimWatchContext;
  readonly #source: Source<T>;
  readonly #receiver: Receiver<T>;
  #sent = 0;
  #arrived = 0;
  #waiting = false;
  #last: { readonly state: T } | undefined;

  constructor(context: SimWatchContext, source: Source<T>, receiver: Receiver<T>) {
    this.#context = context;
    this.#source = source;
    this.#receiver = receiver;
  }

  /** What changes while a notification waits goes with it. */
  changed(): void {
    if (this.#waiting) return;
    const { watchLagMs } = this.#context.server.shape;
    const lagMs = watchLagMs === 0 ? 0 : this.#context.random.below(watchLagMs);
    if (lagMs === 0) return this.now();
    this.#waiting = true;
    this.#context.after(lagMs, () => {
      this.#waiting = false;
      this.now();
    });
  }

  now(): void {
    const { random, server } = this.#context;
    const before = this.#last;
    const state = this.#source.look();
    this.#last = { state };
    this.#send(state);
    if (before === undefined || !random.chance(server.shape.repeatRatio)) return;
    this.#send(before.state);
    this.#send(state);
  }

  /** One that is overtaken is not told any more. */
  #send(state: T): void {
    this.#sent += 1;
    const number = this.#sent;
    const arrive = (): void => {
      if (number > this.#arrived) this.#receiver.arrive(state);
      this.#arrived = Math.max(this.#arrived, number);
    };
    const { over, lost } = this.#receiver;
    this.#context.link.send({ of: 'watch', direction: 'down', over, arrive, lost });
  }
}
