/**
 * What viewers have opened: the queue of an election, the members of a group. Each is watched once,
 * from its first viewer to its last.
 */

import { type Cancel, type Clock, ElectionAdmin, type ElectionState, Member, type Random, type Store } from '@incumbent/core';
import { Backoff, electionKeys, sleep, systemRandom } from '@incumbent/core/adapter';

import { showValue } from '../common/json.ts';
import { candidatesOf, errorFields, type MemberFields } from '../common/output.ts';
import type { Board } from './board.ts';
import type { DocumentKey, MemberDocument, QueueDocument } from './documents.ts';
import type { WatchedElections } from './elections.ts';

/** How many members a document lists. */
const MAX_LISTED = 200;
/** The longest text of a value. */
const MAX_VALUE_CHARACTERS = 2_000;
/** The shortest time between two reads of one queue, in ms. */
const READ_EVERY_MS = 100;

export interface OpenedOptions {
  readonly store: Store;
  readonly board: Board;
  readonly clock: Clock;
  readonly random?: Random;
  readonly elections: WatchedElections;
}

interface Opened {
  viewers: number;
  readonly close: Cancel;
}

export class OpenedDocuments {
  readonly #options: OpenedOptions;
  readonly #opened = new Map<DocumentKey, Opened>();

  constructor(options: OpenedOptions) {
    this.#options = options;
  }

  /**
   * Watches a queue or a group until the returned function is called, once for all of its viewers.
   */
  open(key: DocumentKey): Cancel {
    const opened = this.#opened.get(key) ?? { viewers: 0, close: this.#watch(key) };
    this.#opened.set(key, opened);
    opened.viewers += 1;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      opened.viewers -= 1;
      if (opened.viewers > 0) return;
      this.#opened.delete(key);
      opened.close();
      this.#options.board.delete(key);
    };
  }

  close(): void {
    for (const { close } of this.#opened.values()) close();
    this.#opened.clear();
  }

  #watch(key: DocumentKey): Cancel {
    const name = key.slice(key.indexOf('/') + 1);
    if (key.startsWith('queue/')) {
      const queue = new QueueReader(this.#options, name);
      return () => queue.close();
    }
    return this.#watchGroup(name);
  }

  #watchGroup(name: string): Cancel {
    const { store, board, clock, random } = this.#options;
    // A member that neither campaigns nor joins has no lease.
    const reader = new Member(store, { clock, ...(random === undefined ? {} : { random }) });
    reader.group(name).subscribe((members) => {
      board.set(`members/${name}`, { members: members.slice(0, MAX_LISTED).map(memberDocument), total: members.length });
    });
    return () => void reader.close();
  }
}

/** Reads the queue again after every change of it, and of the leader. */
class QueueReader {
  readonly #options: OpenedOptions;
  readonly #name: string;
  readonly #admin: ElectionAdmin;
  readonly #closed = new AbortController();
  readonly #stop: Cancel;
  #isDue = false;
  #isReading = false;
  #last: ElectionState | undefined;

  constructor(options: OpenedOptions, name: string) {
    this.#options = options;
    this.#name = name;
    this.#admin = new ElectionAdmin(options.store, name);
    this.#stop = options.elections.onChange(name, () => this.#readSoon());
    void this.#watch();
    this.#readSoon();
  }

  close(): void {
    this.#stop();
    this.#closed.abort();
  }

  async #watch(): Promise<void> {
    const { store, clock, random = systemRandom } = this.#options;
    const { signal } = this.#closed;
    const backoff = new Backoff(random, 500, 30_000);
    while (!signal.aborted) {
      try {
        for await (const _entries of store.watchList(electionKeys(this.#name).candidates, { signal })) {
          backoff.reset();
          this.#readSoon();
        }
      } catch (error) {
        this.#show(error);
      }
      if (!signal.aborted) await sleep(clock, backoff.next(), signal);
    }
  }

  #readSoon(): void {
    this.#isDue = true;
    if (!this.#isReading) void this.#read();
  }

  async #read(): Promise<void> {
    const { signal } = this.#closed;
    this.#isReading = true;
    while (this.#isDue && !signal.aborted) {
      this.#isDue = false;
      try {
        this.#last = await this.#admin.state({ signal });
        this.#show();
      } catch (error) {
        this.#show(error);
      }
      await sleep(this.#options.clock, READ_EVERY_MS, signal);
    }
    this.#isReading = false;
  }

  #show(error?: unknown): void {
    if (this.#closed.signal.aborted) return;
    const { board, elections } = this.#options;
    const { spans = [], ends = [] } = elections.history(this.#name) ?? {};
    const now = this.#last;
    const document: QueueDocument = {
      candidates: (now === undefined ? [] : candidatesOf(now).slice(0, MAX_LISTED)).map(({ state, rank, ...member }) => ({
        ...{ ...memberDocument(member), state },
        ...(rank === undefined ? {} : { rank }),
      })),
      total: now?.candidates.length ?? 0,
      stopping: now?.stopping ?? false,
      ...{ spans, ends },
      ...(now?.succession === undefined ? {} : { succession: now.succession }),
      ...(error === undefined ? {} : { error: errorFields(error) }),
    };
    board.set(`queue/${this.#name}`, document);
  }
}

function memberDocument({ memberId, incarnation, value }: MemberFields): MemberDocument {
  const text = showValue(value);
  const shown = text.length > MAX_VALUE_CHARACTERS ? `${text.slice(0, MAX_VALUE_CHARACTERS)}…` : text;
  return { member: memberId, incarnation, ...(text === '' ? {} : { value: shown }) };
}
