/**
 * One watch, from the store to its reader. It lags, merges changes and repeats states. When it
 * breaks off, it begins again by reading. It may skip states, but never the latest one.
 */

import { StoreError, type Cancel, type Key } from '@incumbent/core';
import type { WatchController } from '@incumbent/core/adapter';
import type { Connection, Link, LinkListener } from '../network/link.ts';
import type { SimProcess } from '../time/process.ts';
import type { Stream } from '../time/random.ts';
import type { SimServer, Subscription } from './server.ts';

/** The pause before a watch that broke off is opened again, in ms. */
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
  /** Reads the current state. */
  look(): T;
}

export class SimWatch<S> implements LinkListener {
  readonly #context: SimWatchContext;
  readonly #source: Source<S>;
  readonly #watch: WatchController<S>;
  /** The number of the latest opening. Messages of earlier openings are ignored. */
  #opening = 0;
  /** The connection of the latest opening. */
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

  /** The store was closed, or the client may no longer watch. */
  fail(error: StoreError): void {
    this.#watch.fail(error);
  }

  /** The process has died. */
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
    // The link may have reported this while the process was stopped.
    if (this.#ended) return;
    this.#drop();
    const opening = this.#opening;
    const { link } = this.#context;
    this.#over = link.connection;
    const lost = (): void => this.#lost(opening);
    link.send({ of: 'watch', direction: 'up', over: this.#over, arrive: () => this.#begin(opening), lost });
  }

  /** At the store: reports the current state, and the state after every change. */
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

  /** A lost message breaks the connection, as it would on a stream. */
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

/** The store's side of one opening of a watch. */
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

  /** Changes while a notification waits are merged into it. */
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

  /** A notification that was overtaken is dropped. */
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
