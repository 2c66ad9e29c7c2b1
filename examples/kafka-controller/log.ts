/**
 * One replica's messages in order, each with the leader epoch in which it was written, in memory
 * and in a file that outlives the process. As by Kafka's defaults the file is not synced: after a
 * crash of the machine, the other replicas have the messages.
 */

import { closeSync, ftruncateSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { count, recordOf, text, type Shape } from './shapes.ts';

export interface Entry {
  readonly epoch: number;
  readonly value: string;
}

export const entryShape: Shape<Entry> = recordOf<Entry>({ epoch: count, value: text });

/** A position in the log: the number of entries before it, and the epoch of the last of them. */
export interface Position {
  readonly offset: number;
  /** 0 at the beginning. */
  readonly epoch: number;
}

export const positionShape: Shape<Position> = recordOf<Position>({ offset: count, epoch: count });

const NEWLINE = '\n';

export class Log {
  readonly #path: string;
  readonly #file: number;
  readonly #entries: Entry[] = [];
  /** The end of each entry in the file, in bytes. */
  readonly #ends: number[] = [];

  /** Opens or creates the file. Removes an incomplete last line. */
  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(path, 'a+');
    const content = readFileSync(path, 'utf8');
    const lines = content.split(NEWLINE).slice(0, -1);
    for (const line of lines) this.#note(entryShape(JSON.parse(line)), Buffer.byteLength(line) + 1);
    ftruncateSync(this.#file, this.#ends.at(-1) ?? 0);
  }

  /** The number of entries, which is the offset of the next one. */
  get end(): number {
    return this.#entries.length;
  }

  /** The entries are in the file when this returns. */
  append(entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    const lines = entries.map((entry) => JSON.stringify(entry) + NEWLINE);
    writeSync(this.#file, lines.join(''));
    for (const [index, entry] of entries.entries()) this.#note(entry, Buffer.byteLength(lines[index] ?? ''));
  }

  read(from: number, limit: number): readonly Entry[] {
    return this.#entries.slice(from, from + limit);
  }

  /** The position of an offset, which is at most `end`. */
  positionOf(offset: number): Position {
    return { offset, epoch: this.#entries[offset - 1]?.epoch ?? 0 };
  }

  /**
   * Writes a leader's entries at their position, and removes entries of other epochs there. Returns
   * undefined if that was possible. Otherwise this log is shorter or differs before the position:
   * returns the lower offset to try next. (The consistency check of Raft, Ongaro and Ousterhout
   * 2014, section 5.3; Kafka compares epochs in the same way, KIP-101.)
   */
  replace(after: Position, entries: readonly Entry[]): number | undefined {
    if (after.offset > this.end) return this.end;
    const { epoch } = this.positionOf(after.offset);
    if (epoch !== after.epoch) return this.#entries.findIndex((entry) => entry.epoch === epoch);
    const fresh = entries.findIndex((entry, index) => this.#entries[after.offset + index]?.epoch !== entry.epoch);
    if (fresh === -1) return undefined;
    this.#truncate(after.offset + fresh);
    this.append(entries.slice(fresh));
    return undefined;
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Closes it for good. */
  remove(): void {
    this.close();
    rmSync(this.#path);
  }

  #note(entry: Entry, bytes: number): void {
    this.#entries.push(entry);
    this.#ends.push((this.#ends.at(-1) ?? 0) + bytes);
  }

  #truncate(end: number): void {
    if (end >= this.end) return;
    this.#entries.length = end;
    this.#ends.length = end;
    ftruncateSync(this.#file, this.#ends.at(-1) ?? 0);
  }
}
