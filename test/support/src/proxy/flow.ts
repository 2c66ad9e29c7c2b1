import type { Socket } from 'node:net';

import { reset } from './reset.ts';
import { PASS, type Rule } from './rules.ts';

/** What one side of a connection can send to the other: bytes, an end, or a reset. */
type Item = Buffer | 'end' | 'reset';

interface Queued {
  readonly item: Item;
  /** When it may be delivered, on the monotonic clock. */
  readonly dueAt: number;
}

/**
 * Beyond this size the source is not read, so that a slow or stopped link slows its sender down, as
 * a real one does.
 */
const MAX_QUEUED_BYTES = 1024 * 1024;

/**
 * One direction of one connection: delivers what `source` sends to `sink` according to the rule.
 */
export class Flow {
  /** How many bytes were delivered, and how many were dropped. */
  passed = 0;
  dropped = 0;
  /** An end or a reset was dropped, so this connection has only one side left. */
  severed = false;

  readonly #source: Socket;
  readonly #sink: Socket;
  readonly #onBytes: (bytes: Buffer) => void;
  #rule: Rule = PASS;
  #queue: Queued[] = [];
  #queuedBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `onBytes` receives all bytes before the rule is applied. */
  constructor(source: Socket, sink: Socket, onBytes: (bytes: Buffer) => void) {
    this.#source = source;
    this.#sink = sink;
    this.#onBytes = onBytes;
    source.on('data', (bytes: Buffer) => {
      this.#onBytes(bytes);
      this.#take(bytes);
    });
    source.on('end', () => this.#take('end'));
    source.on('error', () => this.#take('reset'));
    sink.on('drain', () => this.#regulate());
  }

  get tainted(): boolean {
    return this.dropped > 0 || this.severed;
  }

  /**
   * With a delay, queued bytes keep their time. With a drop, they are lost. When everything passes
   * again, they are delivered at once.
   */
  setRule(rule: Rule): void {
    this.#rule = rule;
    const queued = this.#queue;
    this.#queue = [];
    this.#queuedBytes = 0;
    for (const { item, dueAt } of queued) this.#take(item, dueAt);
    this.#flush();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#queue = [];
  }

  #take(item: Item, earlierDueAt?: number): void {
    const now = performance.now();
    switch (this.#rule.kind) {
      case 'pass':
        this.#enqueue(item, now);
        break;
      case 'delay':
        this.#enqueue(item, Math.min(earlierDueAt ?? Infinity, now + this.#rule.ms));
        break;
      case 'hold':
        this.#enqueue(item, Infinity);
        break;
      case 'drop':
        this.#drop(item);
        break;
      default:
        this.#rule satisfies never;
    }
  }

  #enqueue(item: Item, dueAt: number): void {
    this.#queue.push({ item, dueAt });
    if (typeof item !== 'string') this.#queuedBytes += item.length;
    this.#flush();
  }

  #drop(item: Item): void {
    if (typeof item === 'string') this.severed = true;
    else this.dropped += item.length;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    for (let next = this.#queue[0]; next !== undefined && next.dueAt <= performance.now(); next = this.#queue[0]) {
      this.#queue.shift();
      this.#handOn(next.item);
    }
    const dueAt = this.#queue[0]?.dueAt ?? Infinity;
    if (dueAt < Infinity) this.#timer = setTimeout(() => this.#flush(), Math.ceil(dueAt - performance.now()));
    this.#regulate();
  }

  #handOn(item: Item): void {
    if (item === 'reset') reset(this.#sink);
    else if (item === 'end') this.#sink.end();
    else {
      this.#queuedBytes -= item.length;
      if (!this.#sink.writable) return;
      this.passed += item.length;
      this.#sink.write(item);
    }
  }

  #regulate(): void {
    const full = this.#sink.writableNeedDrain || this.#queuedBytes > MAX_QUEUED_BYTES;
    if (this.#rule.kind === 'hold' || (full && this.#rule.kind !== 'drop')) this.#source.pause();
    else this.#source.resume();
  }
}
