/**
 * One replica's messages, in order, each with the leader epoch that it was written in: in memory, and in a file that outlives the process. As by Kafka's defaults, nothing
 * is forced to the disk: what survives a crash of the machine is what other replicas have.
 */

import { closeSync, ftruncateSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { count, recordOf, text, type Shape } from './shapes.ts';

export interface Entry {
  readonly epoch: number;
  readonly value: string;
}

export const entryShape: Shape<Entry> = recordOf<Entry>({ epoch: count, value: text });

/** Where an entry belongs: after so many others, of which the last was written in this epoch. */
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
  /** Where in the file each entry ends. */
  readonly #ends: number[] = [];

  /** Opens the file, or makes it. Of a last line that was never finished nothing is kept. */
  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(path, 'a+');
    const content = readFileSync(path, 'utf8');
    const lines = content.split(NEWLINE).slice(0, -1);
    for (const line of lines) this.#note(entryShape(JSON.parse(line)), Buffer.byteLength(line) + 1);
    ftruncateSync(this.#file, this.#ends.at(-1) ?? 0);
  }

  /** How many entries there are: the offset of the next one. */
  get end(): number {
    return this.#entries.length;
  }

  /** In the file when this returns. */
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
   * Puts a leader's entries where they belong; what stands there from other epochs goes. Undefined if it was possible; otherwise the offset to try from next,
   * lower than this one: this log is shorter, or differs before it. (The consistency check of Raft, Ongaro and Ousterhout 2014, section 5.3; Kafka has the same
   * by comparing epochs, KIP-101.)
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
