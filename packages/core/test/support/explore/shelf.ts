/**
 * A store that is small enough to enumerate: a map of keys, atomic swaps, and leases that are named
 * after their members. Immutable: every write returns a new one.
 */

import type { Change, Entry, Key, SwapResult } from '../../../src/index.ts';

export interface Row {
  readonly text: string;
  readonly revision: number;
  readonly order: number;
  readonly lease: string | undefined;
}

/** An expectation that always holds, for planted bugs. */
export const ANY = 'any';

const utf8 = new TextEncoder();
const fromUtf8 = new TextDecoder();
const encoded = new Map<string, Uint8Array>();

/** Returns the same bytes for the same text, so that entries are cheap to compare and to make. */
function bytesOf(text: string): Uint8Array {
  const known = encoded.get(text);
  if (known !== undefined) return known;
  const bytes = utf8.encode(text);
  encoded.set(text, bytes);
  return bytes;
}

/** The entry of each row. Many states share a row, and so its entry. */
const entries = new WeakMap<Row, Entry>();

export class Shelf {
  readonly rows: ReadonlyMap<Key, Row>;
  /** The number of writes of each key, also of deleted ones if revisions survive deletion. */
  readonly #writes: ReadonlyMap<Key, number>;
  readonly #survive: boolean;
  /** True: all keys of a swap get the same revision. False: no two keys ever have the same. */
  readonly #shares: boolean;
  readonly #created: number;
  #key: string | undefined;

  constructor(
    survive: boolean,
    shares: boolean,
    rows: ReadonlyMap<Key, Row> = new Map(),
    writes: ReadonlyMap<Key, number> = new Map(),
    created = 0,
  ) {
    this.#survive = survive;
    this.#shares = shares;
    this.rows = rows;
    this.#writes = writes;
    this.#created = created;
  }

  read(key: Key): Entry | undefined {
    const row = this.rows.get(key);
    if (row === undefined) return undefined;
    const known = entries.get(row);
    if (known !== undefined) return known;
    const entry = this.#entryOf(key, row);
    entries.set(row, entry);
    return entry;
  }

  #entryOf(key: Key, row: Row): Entry {
    const entry = {
      key,
      name: key.slice(key.lastIndexOf('/') + 1),
      value: bytesOf(row.text),
      revision: this.#shares ? `${row.revision}` : `${key.slice(-12)}@${row.revision}`,
      order: BigInt(row.order),
    };
    return row.lease === undefined ? entry : { ...entry, lease: row.lease };
  }

  list(prefix: Key): readonly Entry[] {
    const found = [...this.rows.keys()].flatMap((key) => (key.startsWith(`${prefix}/`) ? [this.read(key)!] : []));
    return found.toSorted((a, b) => Number(a.order - b.order));
  }

  swap(changes: readonly Change[]): readonly [Shelf, SwapResult] {
    const failed = changes.flatMap(({ key, expect }, index) =>
      expect === ANY || (this.read(key)?.revision ?? null) === expect ? [] : [{ index, current: this.read(key) }],
    );
    if (failed.length > 0) return [this, { swapped: false, failed }];
    const puts = changes.flatMap((change) => ('put' in change ? [this.#writes.get(change.key) ?? 0] : []));
    const revision = this.#shares ? Math.max(...puts) + 1 : undefined;
    const after = changes.reduce<Shelf>((shelf, change) => shelf.#apply(change, revision), this);
    return [after, { swapped: true, revisions: changes.map((change) => ('put' in change ? after.read(change.key)?.revision : undefined)) }];
  }

  put(key: Key, text: string, lease: string | undefined, shared?: number): Shelf {
    const there = this.rows.get(key);
    const revision = shared ?? (this.#survive ? (this.#writes.get(key) ?? 0) : (there?.revision ?? 0)) + 1;
    const row = { text, revision, order: there?.order ?? this.#created + 1, lease };
    return new Shelf(
      this.#survive,
      this.#shares,
      with_(this.rows, key, row),
      with_(this.#writes, key, revision),
      this.#created + Number(there === undefined),
    );
  }

  delete(...keys: readonly Key[]): Shelf {
    const rows = new Map([...this.rows].filter(([key]) => !keys.includes(key)));
    return new Shelf(this.#survive, this.#shares, rows, this.#writes, this.#created);
  }

  expire(lease: string): Shelf {
    return this.delete(...[...this.rows].flatMap(([key, row]) => (row.lease === lease ? [key] : [])));
  }

  /** A key of the whole state. Two states with different revisions ahead have different keys. */
  get key(): string {
    this.#key ??= [
      ...[...this.rows].map(([key, row]) => `${key}=${row.text}@${row.revision}#${row.order}`).toSorted(),
      ...[...this.#writes].map(([key, count]) => `${key}:${count}`).toSorted(),
    ].join('|');
    return this.#key;
  }

  #apply(change: Change, revision: number | undefined): Shelf {
    if ('delete' in change) return this.delete(change.key);
    if (!('put' in change)) return this;
    const { lease = 'keep' } = change;
    const kept = this.rows.get(change.key)?.lease;
    return this.put(change.key, fromUtf8.decode(change.put), lease === 'keep' ? kept : (lease ?? undefined), revision);
  }
}

function with_<V>(map: ReadonlyMap<Key, V>, key: Key, value: V): ReadonlyMap<Key, V> {
  return new Map(map).set(key, value);
}
