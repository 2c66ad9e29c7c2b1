/**
 * Sends the board to one viewer: first the documents that the viewer does not have, then each that
 * changes. A viewer that reads slowly skips states, but always gets the latest one: the server
 * keeps for each viewer the keys that it has not sent, and never a queue of messages.
 */

import type { Cancel, Clock } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';

import { toJson } from '../common/json.ts';
import type { EventStream } from '../serve/http/event-stream.ts';
import type { Board } from './board.ts';
import type { DocumentKey } from './documents.ts';

/** Changes within this time travel together, in ms. */
const GATHER_MS = 15;
/**
 * How many documents one event has at most, and after how many characters it takes no more. So a
 * viewer that reads is never so far behind that its stream is closed.
 */
const BATCH = { documents: 400, characters: 262_144 };

/** The part of an event stream that a viewer uses. */
export type ViewerStream = Pick<EventStream, 'closed' | 'isFull' | 'onDrain' | 'send' | 'sendJson'>;

export interface ViewerOptions {
  readonly clock: Clock;
  /** What the viewer has opened besides the lists: `queue/NAME` or `members/NAME`. */
  readonly opened?: DocumentKey;
  /** The last version that the viewer has, and whose. */
  readonly since?: { readonly epoch: string; readonly version: number };
}

/** Sends until the stream closes. */
export function sendBoard(board: Board, stream: ViewerStream, options: ViewerOptions): void {
  const viewer = new Viewer(board, stream, options);
  onAbort(
    stream.closed,
    board.subscribe((key) => viewer.changed(key)),
  );
  onAbort(stream.closed, () => viewer.close());
  viewer.start();
}

class Viewer {
  readonly #board: Board;
  readonly #stream: ViewerStream;
  readonly #options: ViewerOptions;
  readonly #unsent = new Set<DocumentKey>();
  #cancel: Cancel | undefined;
  /** True until all documents that the viewer lacked are sent. */
  #isNew = true;

  constructor(board: Board, stream: ViewerStream, options: ViewerOptions) {
    this.#board = board;
    this.#stream = stream;
    this.#options = options;
  }

  start(): void {
    const { since, opened, clock } = this.#options;
    const resumes = since !== undefined && this.#board.canResume(since.epoch, since.version);
    this.#stream.sendJson('hello', toJson({ epoch: this.#board.epoch, resumes, now: clock.wall() }));
    for (const key of this.#board.changedAfter(resumes ? since.version : 0)) if (this.#shows(key)) this.#unsent.add(key);
    // The viewer may have opened it only now.
    if (opened !== undefined && this.#board.json(opened) !== undefined) this.#unsent.add(opened);
    this.#stream.onDrain(() => this.#flush());
    this.#flush();
  }

  changed(key: DocumentKey): void {
    if (!this.#shows(key)) return;
    this.#unsent.add(key);
    this.#cancel ??= this.#options.clock.schedule(GATHER_MS, () => this.#flush());
  }

  close(): void {
    this.#cancel?.();
    this.#unsent.clear();
  }

  #shows(key: DocumentKey): boolean {
    return !(key.startsWith('queue/') || key.startsWith('members/')) || key === this.#options.opened;
  }

  #flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    while (this.#unsent.size > 0 && !this.#stream.isFull) {
      const parts: string[] = [];
      let characters = 0;
      for (const key of this.#unsent) {
        if (parts.length === BATCH.documents || characters >= BATCH.characters) break;
        this.#unsent.delete(key);
        const part = `[${JSON.stringify(key)},${this.#board.json(key) ?? 'null'}]`;
        parts.push(part);
        characters += part.length;
      }
      // While something is unsent, the viewer could not resume from the board's version.
      const version = this.#unsent.size === 0 ? this.#board.version : null;
      this.#stream.sendJson('documents', `{"version":${version},"documents":[${parts.join(',')}]}`);
    }
    if (this.#unsent.size > 0 || this.#stream.isFull || !this.#isNew) return;
    this.#isNew = false;
    this.#stream.send({ event: 'ready' });
  }
}
